"""Products of rows, made some rows at a time, pooled, fitted into their word and written, while they lie in the cache.

The rows may be those of a matrix, or all the windows of an image: then each place of the image is the corner of a
window, and what lies between two lines of the output is computed and left out. One call does it all, so that threads
do not wait for each other in Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types

from mfsim.kernels.gemm.dispatch import multiply
from mfsim.kernels.jit import kernel
from mfsim.kernels.rows.epilogue import apply_run
from mfsim.kernels.simd.emit import broadcast, inner, loop, piece
from mfsim.kernels.simd.transpose_block import copy, transpose_plane
from mfsim.kernels.simd.vector import emitted, load, store
from mfsim.kernels.simd.wrapping import add, shl

LANES = 16
"""Sums that are pooled at a time; the columns of all products are a multiple of it."""


class Product(NamedTuple):
    """An int8 product with the table [1 or 2, steps] of its left operands (see `mfsim.kernels.gemm.dispatch.multiply`).

    The second table, which is that of lines from `Geometry.safe` on, says where copies of these lie.
    """

    level: Any
    table: np.ndarray
    panels: np.ndarray
    start: np.ndarray


class Geometry(NamedTuple):
    """Which rows there are: `images` of `lines` of `columns`, `pitch` rows from line to line, `above` lines from image to image.

    `some_images` of `some_lines` are worked on at a time: all lines, or those of one image. `stride` bytes lie between two
    rows of left operands. Those of the lines from `safe` on have a table of their own, as what lies behind them must not
    be read.
    """

    images: int
    lines: int
    columns: int
    pitch: int
    above: int
    some_images: int
    some_lines: int
    stride: int
    safe: int


class Target(NamedTuple):
    """Where codes go: into channels `first` onwards of [n, outputs, H, W] if `turned`, else into rows; `columns` of each row."""

    turned: int
    outputs: int
    first: int
    columns: int


@emitted
def _pool(typing, sums, at, pitch, width, rows, columns, floor, line, place, greatest):
    """Join 16 columns of a window of `sums` into line[place ...]: `rows` lines of `columns` rows of sums.

    Sums below `floor` become it first. Lines lie `pitch` elements apart, rows `width`; `greatest` is a constant.
    """
    greatest_ = greatest.literal_value

    def generate(context, builder, signature, arguments):
        sums_, line_ = (context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 7))
        at, pitch, width, rows, columns, floor = arguments[1:7]
        element = line_.type.pointee
        vector = ir.VectorType(element, LANES)
        least = broadcast(builder, builder.trunc(floor, element) if element.width < 64 else floor, LANES)

        def row(_, carried):
            place, total = carried
            value = load(builder, sums_, place, LANES)
            if value.type != vector:
                value = builder.sext(value, vector)
            value = builder.select(builder.icmp_signed(">", value, least), value, least)
            if greatest_:
                total = builder.select(builder.icmp_signed(">", value, total), value, total)
            else:
                total = builder.add(value, total)
            return [builder.add(place, width), total]

        def window_line(_, carried):
            place, total = carried
            _, (_, total) = loop(builder, columns, [], [], [place, total], row)
            return [builder.add(place, pitch), total]

        none = least if greatest_ else ir.Constant(vector, None)
        _, (_, total) = loop(builder, rows, [], [], [at, none], window_line)
        store(builder, total, line_, arguments[8])
        return context.get_dummy_value()

    return types.void(sums, *[types.int64] * 6, line, types.int64, greatest), generate


@kernel
def _pool_line(sums, width, first, pitch, pooling, columns, line):
    """Fill line [columns * width] with windows of the lines of `sums` [rows, width] from row `first` on."""
    rows, across, floor = pooling.rows, pooling.columns, pooling.floor
    for x in range(columns):
        for n in range(0, width, LANES):
            at, place = (first + x * across) * width + n, x * width + n
            if pooling.greatest:
                _pool(sums, at, pitch * width, width, rows, across, floor, line, place, 1)
            else:
                _pool(sums, at, pitch * width, width, rows, across, floor, line, place, 0)


@kernel
def _add_shifted(c, d, size, shifts, totals):
    """Fill `totals` with `size` sums of two products, shifted to the left and added."""
    word, tile = totals.dtype.type, shifts.shape[1]
    for first in range(0, size, tile):
        count = min(tile, size - first)
        left, right, total = piece(c, first, count), piece(d, first, count), piece(totals, first, count)
        for k in range(count):
            total[k] = add(shl(word(left[k]), shifts[0, k]), shl(word(right[k]), shifts[1, k]))


@kernel
def multiplied(level, stride, table, panels, start, safe, block, y):
    """Fill y int32 [rows, width] with the sums as they are, and return 0, the overflows.

    Rows that are not enough for a block of the level go through `block` [rows of a block, width]. The tables are those of a `Product`, and `safe` that of a `Geometry`.

    Parameters
    ----------
    level : Amx, Vnni, Avx2, Portable or Terms
        Steps of the product; see `mfsim.kernels.gemm.dispatch`.
    stride : int
        Bytes from row to row of left operands.
    table : int64 array, shape (1 or 2, steps)
        Address of each step's operands of row 0.
    panels : array
        Packed right operands.
    start : int32 array, shape (width,)
        Added to the sums of each column.
    safe : int
        First row that the second table is for.
    block : int32 array, shape (rows of a block, width)
        Scratch.
    y : int32 array, shape (rows, width)
        Filled.

    Returns
    -------
    int
        0.
    """
    size, width = block.shape
    row = min(safe, y.shape[0]) // size * size
    multiply(level, 0, stride, inner(table, 0), panels, start, y, row)
    while row < y.shape[0]:
        copied = 1 if row >= safe else 0
        count = min(size, (y.shape[0] if copied else min(safe, y.shape[0])) - row)
        multiply(level, row * stride, stride, inner(table, copied), panels, start, block, count)
        for k in range(count):
            copy(block, k * width, y, (row + k) * width, width)
        row += count
    return 0


@kernel
def row_products(first, second, geometry, pooling, shifts, fitting, target, c, d, totals, line, codes, y):
    """Fill y with the products of all rows, pooled and fitted; return how many codes did not fit.

    Parameters
    ----------
    first, second : `Product`, with absolute addresses in its table; the second is not looked at where `shifts` is empty
    fitting : `Rules` of one column, or of as many as a row has, repeated
    shifts : [2, some rows * width], by which the sums of both are shifted before they are added, or [0, 0]
    c, d : int32 [rows, width], rows for what is worked on at a time, as many as the level makes
    totals : of the word of the fit, flat, as many as c if there are two products
    line : of the word of the fit, [columns of a line * width] if sums are pooled
    codes : of the type of y, flat, where fitted codes of some rows wait to be turned or cut
    """
    width, sums = c.shape[1], c.reshape(-1)  # flat, like totals and line: what fits them is compiled once
    lines, columns = geometry.lines // pooling.rows, geometry.columns // pooling.columns
    turned, two, pooled = target.turned == 1, shifts.size > 0, pooling.rows * pooling.columns > 1
    straight = not turned and target.columns == width
    out = y if straight else codes
    column = 0 if fitting.rules.shape[1] == 1 else -1
    events = 0
    for n in range(0, geometry.images, geometry.some_images):
        images = min(geometry.some_images, geometry.images - n)
        i = 0
        while i < lines * pooling.rows:
            copied = 1 if i >= geometry.safe else 0
            end = lines * pooling.rows if copied else min(geometry.safe, lines * pooling.rows)
            some = min(geometry.some_lines, end - i)
            left = ((n * geometry.above + i) * geometry.pitch) * geometry.stride
            count = ((images - 1) * geometry.above + some - 1) * geometry.pitch + geometry.columns
            multiply(
                first.level, left, geometry.stride, inner(first.table, copied), first.panels, first.start, c, count
            )
            if two:
                table = inner(second.table, copied)
                multiply(second.level, left, geometry.stride, table, second.panels, second.start, d, count)
                _add_shifted(c, d, count * width, shifts, totals)
            made = some // pooling.rows
            rows = (n * lines + i // pooling.rows) * columns
            at = rows * width if straight else 0
            # Rows without a gap are one long line.
            whole = not pooled and geometry.pitch == geometry.columns and images * made * columns == count
            size = count * width if whole else columns * width
            for k in range(1 if whole else images * made):
                row = (k // made * geometry.above + k % made * pooling.rows) * geometry.pitch
                place, words = row * width, totals
                if pooled:
                    if two:
                        _pool_line(totals, width, row, geometry.pitch, pooling, columns, line)
                    else:
                        _pool_line(sums, width, row, geometry.pitch, pooling, columns, line)
                    place, words = 0, line
                if pooled or two:
                    events += apply_run(words, place, size, fitting, column, out, at + k * size)
                else:
                    events += apply_run(sums, place, size, fitting, column, out, at + k * size)
            if turned:
                plane, size = lines * columns, made * columns
                for image in range(images):
                    channel = (n + image) * target.outputs + target.first
                    place = channel * plane + i // pooling.rows * columns
                    transpose_plane(codes, image * size * width, width, y, place, plane, size, target.columns)
            elif not straight:
                for row in range(images * made * columns):
                    copy(codes, row * width, y, (rows + row) * target.columns, target.columns)
            i += some
    return events
