"""Building blocks of the fast kernels: machine vectors of integers, written as LLVM vector instructions.

Functions that take a `builder` emit instructions: loads and stores, shuffles, butterflies. They work for every
integer element of 8 to 64 bits and for vectors of one or more 128-bit segments; LLVM chooses the instructions of
the machine. Functions marked `emitted` are called in kernels.

A butterfly between the elements of *one* vector needs them in two. Both shuffles here take the pair (u, w) as one
array whose index has the bits of the lane and, above them, one bit c that says u or w; and both rotate some of the
bits, so that another lane bit becomes c, is transformed as two whole vectors, and after a full turn
everything lies where it was: one cheap shuffle for each stage and one more, and no blend.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

SEGMENT_BITS = 128
"""Most x86 shuffles move elements inside segments of this many bits, or whole segments."""


def load(builder, pointer, at, lanes):
    """Emit the load of `lanes` elements of `pointer` from element `at` on, of any alignment.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    pointer : llvmlite.ir.Value
        Pointer to elements.
    at : llvmlite.ir.Value
        Index of the first element, an integer.
    lanes : int
        Elements of the vector.

    Returns
    -------
    llvmlite.ir.Value
        The vector.
    """
    element = pointer.type.pointee
    place = builder.bitcast(builder.gep(pointer, [at]), ir.VectorType(element, lanes).as_pointer())
    return builder.load(place, align=element.width // 8)


def store(builder, value, pointer, at):
    """Emit the store of the vector `value` to `pointer` from element `at` on, of any alignment.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    value : llvmlite.ir.Value
        A vector.
    pointer : llvmlite.ir.Value
        Pointer to elements of the vector's type.
    at : llvmlite.ir.Value
        Index of the first element, an integer.
    """
    place = builder.bitcast(builder.gep(pointer, [at]), value.type.as_pointer())
    builder.store(value, place, align=value.type.element.width // 8)


def _prefetch(builder, pointer, at, ahead):
    """Emit the fetch into the cache of what lies `ahead` bytes behind element `at` of `pointer`; it need not exist."""
    name, byte, word = "llvm.prefetch.p0", ir.IntType(8).as_pointer(), ir.IntType(32)
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), name)
    place = builder.gep(builder.bitcast(builder.gep(pointer, [at]), byte), [cgutils.intp_t(ahead)])
    reading, every_cache, data = word(0), word(3), word(1)
    builder.call(function, [place, reading, every_cache, data])


def shuffle(builder, left, right, lanes):
    """Emit a vector of the elements `lanes` of `left` and, counted on behind them, of `right`.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
        Where instructions are emitted.
    left, right : llvmlite.ir.Value
        Vectors of one type, of n elements.
    lanes : list of int
        Elements, each 0 to 2 n - 1.

    Returns
    -------
    llvmlite.ir.Value
        A vector of len(lanes) elements.
    """
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(left, right, mask)


def _butterfly(builder, left, right):
    """Emit left + right and left - right, which wrap as two's complement does."""
    return builder.add(left, right), builder.sub(left, right)


def interleave_masks(lanes, segment):
    """Return the lanes of both halves of the interleaving of two vectors inside each segment.

    With k = log2 `segment`: lane bit k-1 becomes c, c becomes lane bit 0, the others move up by one.

    Parameters
    ----------
    lanes : int
        Elements of a vector, a power of two.
    segment : int
        Elements of a segment, a power of two, 2 to `lanes`.

    Returns
    -------
    list of two lists of int
        Lanes for `shuffle`.
    """
    halves = []
    for half in (0, segment // 2):
        pairs = [start + half + i for start in range(0, lanes, segment) for i in range(segment // 2)]
        halves.append([lane for i in pairs for lane in (i, lanes + i)])
    return halves


def gather_masks(lanes, segment):
    """Return the lanes of the even segments of two vectors, and those of the odd ones.

    The lowest bit of the segment becomes c, c becomes the highest, the others move down by one.

    Parameters
    ----------
    lanes : int
        Elements of a vector, a power of two.
    segment : int
        Elements of a segment, a power of two that divides `lanes`.

    Returns
    -------
    list of two lists of int
        Lanes for `shuffle`.
    """
    return [
        [start + i for start in range(half * segment, 2 * lanes, 2 * segment) for i in range(segment)]
        for half in (0, 1)
    ]


def _lane_stages(builder, left, right, stages):
    """Emit the butterflies of both vectors over the bits of the lane index that are set in `stages`."""
    lanes = left.type.count
    segment = SEGMENT_BITS // left.type.element.width
    inside = list(reversed(range(segment.bit_length() - 1)))
    across = list(range(segment.bit_length() - 1, lanes.bit_length() - 1))
    for turn, masks in ((inside, interleave_masks(lanes, segment)), (across, gather_masks(lanes, segment))):
        if any(stages >> bit & 1 for bit in turn):
            for bit in turn:
                left, right = (shuffle(builder, left, right, mask) for mask in masks)
                if stages >> bit & 1:
                    left, right = _butterfly(builder, left, right)
            left, right = (shuffle(builder, left, right, mask) for mask in masks)
    return left, right


def _vector_stages(builder, values, stages):
    """Emit the butterflies between the vectors `values` over the bits of their number that are set in `stages`."""
    values = list(values)
    for bit in range(len(values).bit_length() - 1):
        if stages >> bit & 1:
            for i in range(len(values)):
                if not i >> bit & 1:
                    values[i], values[i + (1 << bit)] = _butterfly(builder, values[i], values[i + (1 << bit)])
    return values


def emitted(function) -> Any:
    """Make what `function` emits callable in kernels; arguments that are constants there reach it as literals.

    Parameters
    ----------
    function : callable
        (typing, *argument types) to a signature and a code generator, as Numba's `intrinsic` asks for.

    Returns
    -------
    numba intrinsic
        What kernels call.
    """
    return intrinsic(prefer_literal=True)(function)


@emitted
def radix(typing, source, source_at, source_step, target, target_at, target_step, lanes, count, in_lane, across, ahead):
    """Transform `count` vectors of `lanes` elements in registers, from flat array `source` into flat array `target`.

    Vector k lies at element at + k * step. `in_lane` and `across` are sets of bits of the lane index and of k: the
    stages of butterflies; `count` is even where `in_lane` is not 0. What lies `ahead` bytes (0: nothing) behind
    each vector of the source is fetched into the cache. The last five arguments are constants.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    source : array, flat
        What is read.
    source_at, source_step : int
        First element, and elements from vector to vector.
    target : array, flat
        What is written, of the element type of `source`.
    target_at, target_step : int
        First element, and elements from vector to vector.
    lanes, count : int, constant
        Elements of a vector and number of vectors, powers of two.
    in_lane, across : int, constant
        Bits of the lane index, and of the number of the vector, that are transformed.
    ahead : int, constant
        Bytes.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    constants = [value.literal_value for value in (lanes, count, in_lane, across, ahead)]
    lanes_, count_, in_lane_, across_, ahead_ = constants

    def generate(context, builder, signature, arguments):
        pointers = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 3)]
        places = [
            [builder.add(at, builder.mul(step, cgutils.intp_t(k))) for k in range(count_)]
            for at, step in (arguments[1:3], arguments[4:6])
        ]
        if ahead_:
            for at in places[0]:
                _prefetch(builder, pointers[0], at, ahead_)
        values = [load(builder, pointers[0], at, lanes_) for at in places[0]]
        if in_lane_:
            for k in range(0, count_, 2):
                values[k : k + 2] = _lane_stages(builder, values[k], values[k + 1], in_lane_)
        for value, at in zip(_vector_stages(builder, values, across_), places[1], strict=True):
            store(builder, value, pointers[1], at)
        return context.get_dummy_value()

    return types.void(
        source, types.intp, types.intp, target, types.intp, types.intp, lanes, count, in_lane, across, ahead
    ), generate
