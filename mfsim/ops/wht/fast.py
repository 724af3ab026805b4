"""Fast kernels of the Walsh-Hadamard transform."""

from __future__ import annotations

import functools
import math

import numpy as np

from mfsim.kernels import cpu
from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.vector import radix
from mfsim.ops.wht.kernels import natural_rows

# wht, fast kernel: butterflies over whole vectors in registers, each pass over memory as many stages as fit.
#
# A transform of blocks of n codes that lie `inner` apart is a transform over some bits of the flat index. Where
# these begin inside a vector (the last axis, or a short power of two behind it), `rows` does the bits of the lane
# and those of as many vectors as the registers hold in one pass, and the rest in passes of strided vectors, one row of
# 2**last codes after the other, so that it stays in the cache.
# Where `inner` is longer, `columns` does vectors of neighbouring columns.
#
# Nothing is ordered among the stages and every sum wraps, so the result is exact in every word that holds it.

WHT_ISAS = {"avx512": (64, 4), "avx2": (32, 3), "portable": (16, 3)}
"""For each level the bytes of a vector, and log2 of how many of them a pass holds that does not come first."""

HELD = 3
"""log2 of how many vectors the first pass over memory holds: eight reach memory as fast as it can be read, and
sixteen do not."""

AHEAD = 768
"""How many bytes ahead of itself the first pass fetches."""

CACHED_CODES = 1 << 15
"""How many codes are transformed over several axes, or transformed and sorted, at a time."""


@functools.cache
def _rows(lane_bits, held, first, last):
    """Return the kernel that transforms over the bits `first` to `last` - 1 of the index.

    `first` <= `lane_bits`; 2**lane_bits is the number of codes of a vector, 2**held that of the vectors of a later pass.
    """
    lanes, first_count, count = 1 << lane_bits, 1 << HELD, 1 << held
    once = min(last, lane_bits + HELD)
    in_lane = (1 << min(last, lane_bits)) - (1 << min(first, lane_bits))
    across = (1 << max(once - lane_bits, 0)) - (1 << max(first - lane_bits, 0))
    size = max(1 << last, lanes * first_count)
    passes, left = divmod(last - once, held)
    every, rest, others = count - 1, 1 << left, (1 << left) - 1

    @kernel
    def transform_rows(source, target, start, stop):
        for row in range(start, stop, size):
            for at in range(row, row + size, lanes * first_count):
                radix(source, at, lanes, target, at, lanes, lanes, first_count, in_lane, across, AHEAD)
            step = lanes * first_count
            for _ in range(passes):
                for block in range(row, row + size, step * count):
                    for at in range(block, block + step, lanes):
                        radix(target, at, step, target, at, step, lanes, count, 0, every, 0)
                step *= count
            if left > 0:
                for at in range(row, row + step, lanes):
                    radix(target, at, step, target, at, step, lanes, rest, 0, others, 0)

    return transform_rows


@functools.cache
def _columns(lane_bits, held, bits):
    """Return the kernel that transforms blocks of 2**bits rows of `inner` codes, a vector of columns at a time.

    It does the first `width` columns, a multiple of 2**lane_bits; `scratch` holds a vector for each row. More rows than
    the registers hold go there after the first pass and come back in the last: rows that lie a large power
    of two apart would drive each other out of the cache.
    """
    lanes, count, n = 1 << lane_bits, 1 << held, 1 << bits
    passes = (bits - 1) // held
    every, rest, others = count - 1, 1 << bits - passes * held, (1 << bits - passes * held) - 1

    @kernel
    def transform_columns(source, target, scratch, inner, width):
        for block in range(0, source.size, n * inner):
            for at in range(block, block + width, lanes):
                if passes == 0:
                    radix(source, at, inner, target, at, inner, lanes, rest, 0, others, 0)
                    continue
                for row in range(0, n, count):
                    radix(source, at + row * inner, inner, scratch, row * lanes, lanes, lanes, count, 0, every, 0)
                step = lanes * count
                for _ in range(passes - 1):
                    for group in range(0, n * lanes, step * count):
                        for place in range(group, group + step, lanes):
                            radix(scratch, place, step, scratch, place, step, lanes, count, 0, every, 0)
                    step *= count
                apart = step // lanes * inner
                for row in range(step // lanes):
                    radix(scratch, row * lanes, step, target, at + row * inner, apart, lanes, rest, 0, others, 0)

    return transform_columns


@kernel
def _reorder(source, target, rows_, inner):
    """Fill `target` with the rows of `inner` codes of each block of `source`, row rows_[i] as row i."""
    for block in range(0, source.size, rows_.size * inner):
        if inner == 1:
            for i in range(rows_.size):
                target[block + i] = source[block + rows_[i]]
            continue
        for i in range(rows_.size):
            for column in range(inner):
                target[block + i * inner + column] = source[block + rows_[i] * inner + column]


_natural_rows = functools.cache(natural_rows)


def _transform_rows(source, target, first, last, lane_bits, held):
    run_rows = _rows(lane_bits, held, first, last)
    size = 1 << max(last, lane_bits + HELD)
    whole = source.size - source.size % size
    if whole:
        run_rows(source, target, 0, whole)
    if whole < source.size:
        rest = np.zeros(size, source.dtype)
        rest[: source.size - whole] = source[whole:]
        run_rows(rest, rest, 0, size)
        target[whole:] = rest[: source.size - whole]


def _transform_columns(source, target, n, inner, lane_bits, held):
    lanes = 1 << lane_bits
    run_columns = _columns(lane_bits, held, n.bit_length() - 1)
    scratch = np.empty(n * lanes, source.dtype)
    whole = inner - inner % lanes
    # Columns that fill no vector, padded with zeros.
    rest_of_source = source.reshape(-1, n, inner)[:, :, whole:]
    rest = np.zeros((*rest_of_source.shape[:2], lanes), source.dtype) if whole < inner else None
    if rest is not None:
        rest[:, :, : inner - whole] = rest_of_source
        run_columns(rest.reshape(-1), rest.reshape(-1), scratch, lanes, lanes)
    run_columns(source, target, scratch, inner, whole)
    if rest is not None:
        target.reshape(-1, n, inner)[:, :, whole:] = rest[:, :, : inner - whole]


def _transform(source, target, n, inner, width, held):
    """Transform in natural order."""
    lane_bits = (width // source.itemsize).bit_length() - 1
    if n == 1:
        np.copyto(target, source)
    elif inner <= 1 << lane_bits and not inner & (inner - 1):
        first = inner.bit_length() - 1
        _transform_rows(source, target, first, first + n.bit_length() - 1, lane_bits, held)
    else:
        _transform_columns(source, target, n, inner, lane_bits, held)


def transform(source, target, n, inner, order, level):
    """Transform blocks of n codes that lie `inner` apart in flat `source` into flat `target`, which may be the same.

    Both are of one integer type, in which sums wrap; their size is a multiple of n * inner. `level` is one of `WHT_ISAS`.

    Parameters
    ----------
    source : integer array, flat
        Codes, C-contiguous.
    target : integer array, flat
        As long as `source` and of its type; filled.
    n : int
        Length of a block, a power of two.
    inner : int
        Codes from one code of a block to the next, at least 1.
    order : str
        Order of the results: "natural", "sequency" or "dyadic".
    level : str
        Level of instructions.
    """
    source, target = (array.view(f"i{array.itemsize}") for array in (source, target))
    if order == "natural":
        _transform(source, target, n, inner, *WHT_ISAS[level])
        return
    # A few blocks at a time stay in the cache until they are sorted.
    part = max(CACHED_CODES // (n * inner), 1) * n * inner
    scratch = np.empty(min(part, source.size), source.dtype)
    for start in range(0, source.size, part):
        codes, sorted_codes = source[start : start + part], target[start : start + part]
        natural = scratch[: codes.size]
        _transform(codes, natural, n, inner, *WHT_ISAS[level])
        _reorder(natural, sorted_codes, _natural_rows(n, order), inner)


def prepare_wht(inputs, outputs, attributes):
    """Return `run`: it takes codes of any integer type.

    Parameters
    ----------
    inputs : list of Operand
        x [...], transformed along the last `dims` axes; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `block`, `dims`, `order`, `norm`, `inverse`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return run_wht


def run_wht(inputs, attributes, outputs):
    """Fill the output of op `wht`: Walsh-Hadamard transforms.

    Parameters
    ----------
    inputs : list of arrays of any integer types
        C-contiguous codes: x [batch, ...], transformed along the last `dims` axes.
    attributes : mapping
        Complete attributes: `block`, `dims`, `order`, `norm`, `inverse`.
    outputs : list of one array of any integer type
        Preallocated and filled completely: y of the shape of x.
    """
    x, y = inputs[0], outputs[0]
    level = cpu.best(tuple(WHT_ISAS))
    dims, block, order = attributes["dims"], attributes["block"], attributes["order"]
    shape = x.shape[x.ndim - dims :]
    lengths = [block or length for length in shape]
    if order == "natural" and list(shape) == lengths:
        # The transform of a plane is that of its codes in a row.
        shape, lengths = (math.prod(shape),), [math.prod(shape)]
    sample = math.prod(shape)
    flat_x, flat_y = x.reshape(-1), y.reshape(-1)
    # A few samples at a time stay in the cache from one axis to the next.
    part = max(flat_x.size if len(lengths) == 1 else CACHED_CODES // sample * sample, sample)
    for start in range(0, flat_x.size, part):
        source, target = flat_x[start : start + part], flat_y[start : start + part]
        if x.dtype != y.dtype:
            target[...] = source
            source = target
        inner = 1
        for length, n in zip(reversed(shape), reversed(lengths), strict=True):
            transform(source, target, n, inner, order, level)
            source, inner = target, inner * length
