"""What a part of an int8 product takes of the codes of an operand: values, signs or magnitudes, shifted.

Everything is computed in the word of the target, where it wraps: what does not fit the word in between fits at last.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.vector import emitted, load, store
from mfsim.kernels.simd.wrapping import add, bit_and, shl, sub

VALUE, SIGN, MAGNITUDE = 0, 1, 2
"""What a part takes of a code."""


@kernel
def transform_operand(source, target, what, zero, places, flip):
    """Fill 1-D `target` with x, sign(x) or |x| of `source`, shifted left by `places`; `flip` -128 adds 128 to each.

    `zero` is the sign of 0, 0 or 1.

    Parameters
    ----------
    source : integer array, shape (n,)
        Codes.
    target : integer array, shape (n or more,)
        Filled in its first n elements.
    what : int
        `VALUE`, `SIGN` or `MAGNITUDE`.
    zero : int
        0 or 1, for `SIGN`.
    places : int
        Bits, at least 0 and less than those of the word of `target`.
    flip : int
        Added at last: 0 or -128, which is 128 modulo 256.
    """
    word = target.dtype.type
    shift, offset = word(places), word(flip)
    if what == VALUE:
        if places == 0 and flip == 0:
            for k in range(source.size):
                target[k] = source[k]
        else:
            for k in range(source.size):
                target[k] = add(shl(word(source[k]), shift), offset)
    elif what == SIGN:
        of_zero = word(zero)
        for k in range(source.size):
            code = source[k]
            sign = add(sub(word(code > 0), word(code < 0)), bit_and(word(code == 0), of_zero))
            target[k] = add(shl(sign, shift), offset)
    else:
        for k in range(source.size):
            code = word(source[k])
            magnitude = sub(word(0), code) if source[k] < 0 else code
            target[k] = add(shl(magnitude, shift), offset)


@emitted
def interleave(typing, source, source_at, step, target, target_at, lanes, group):
    """Write vectors of `lanes` elements of `source`, `group` (1, 2 or 4) of them, element by element in turn.

    The vectors begin at element `source_at` of the flat array and lie `step` apart; the last two arguments are constants.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    source : array, flat
        What is read.
    source_at, step : int
        First element, and elements from vector to vector.
    target : array, flat
        Of the element type of `source`; lanes * group elements are written.
    target_at : int
        First element written.
    lanes : int, constant
        Elements of a vector.
    group : int, constant
        Vectors: 1, 2 or 4.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    lanes_, group_ = lanes.literal_value, group.literal_value

    def generate(context, builder, signature, arguments):
        pointers = [context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 3)]
        at, vectors = arguments[1], []
        for _ in range(group_):
            vectors.append(load(builder, pointers[0], at, lanes_))
            at = builder.add(at, arguments[2])
        while len(vectors) > 1:
            half = len(vectors) // 2
            count = vectors[0].type.count
            mask = [lane for k in range(count) for lane in (k, count + k)]
            constant = ir.Constant(ir.VectorType(ir.IntType(32), 2 * count), mask)
            vectors = [builder.shuffle_vector(vectors[k], vectors[k + half], constant) for k in range(half)]
        store(builder, vectors[0], pointers[1], arguments[4])
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, target, types.intp, lanes, group), generate
