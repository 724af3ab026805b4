"""int8 products, level `amx`: blocks of 32 rows by 32 or 16 columns in tiles, 16 K products an instruction.

Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns. Their shapes belong to the thread: every call sets and
releases them. Layout of operands: mfsim/kernels/gemm/product.py.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import I8, I64, address, declared, generated, loop, pointer
from mfsim.kernels.simd.emit import load as load_word
from mfsim.kernels.simd.vector import emitted

_VOID, _BYTES = ir.VoidType(), I8.as_pointer()

SHAPES = np.zeros(64, dtype=np.uint8)
"""Palette 1; all eight tiles have 16 rows of 64 bytes."""

SHAPES[0] = 1

SHAPES[16:32:2] = 64

SHAPES[48:56] = 16


@generated
def _configure(typing, shapes):
    """Set the tiles of this thread to the shapes at an address."""

    def generate(context, builder, signature, arguments):
        load = declared(builder, "llvm.x86.ldtilecfg", _VOID, [_BYTES])
        builder.call(load, [pointer(builder, arguments[0], I8)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@generated
def _release(typing):
    """Give the tiles of this thread back, so that a change of threads does not save them."""

    def generate(context, builder, signature, arguments):
        builder.call(declared(builder, "llvm.x86.tilerelease", _VOID, []), [])
        return context.get_dummy_value()

    return types.void(), generate


@emitted
def block(typing, tiles, a, stride, table, b, panel, start, c, width, ss, us, su):
    """Fill a register tile of a GEMM, 32 rows by 16 `tiles` columns of c, with start + a b.

    Step k takes 64 bytes of each row from a + table[k] on: `ss` steps of signed operands, then `us` of unsigned a, then
    `su` of unsigned b. `stride` and `width` are the bytes between rows of a and of c, `panel` those between panels of b.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    tiles : int, constant
        Tiles side by side, 1 or 2.
    a, stride : int64
        Address of the first row of left operands, and bytes from row to row.
    table : int64
        Address of int64 offsets in bytes, one for each step.
    b, panel : int64
        Address of the first panel of right operands, and bytes from panel to panel.
    start : int64
        Address of 16 `tiles` int32 that the sums of each row start with.
    c, width : int64
        Address of the first int32 sum, and bytes from row to row.
    ss, us, su : int64
        Steps of 64 bytes of each kind, at least 0.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    tiles_ = tiles.literal_value

    def generate(context, builder, signature, arguments):
        a, stride, table, b, panel, start, c, width, ss, us, su = arguments[1:]
        load = declared(builder, "llvm.x86.tileloadd64", _VOID, [I8, _BYTES, I64])
        store = declared(builder, "llvm.x86.tilestored64", _VOID, [I8, _BYTES, I64])
        sums = [(2 * row + column, row, column) for row in range(2) for column in range(tiles_)]

        def move(function, tile, address, stride):
            builder.call(function, [I8(tile), pointer(builder, address, I8), stride])

        for tile, _, column in sums:
            move(load, tile, builder.add(start, I64(64 * column)), I64(0))
        lower = builder.add(a, builder.mul(stride, I64(16)))

        def step(name):
            dot = declared(builder, f"llvm.x86.{name}", _VOID, [I8, I8, I8])

            def body(places, carried):
                offset = load_word(builder, places[0], I64)
                for column in range(tiles_):
                    move(load, 6 + column, builder.add(places[1], builder.mul(panel, I64(column))), I64(64))
                for row, first in enumerate((a, lower)):
                    move(load, 4 + row, builder.add(first, offset), stride)
                    for column in range(tiles_):
                        builder.call(dot, [I8(2 * row + column), I8(4 + row), I8(6 + column)])
                return []

            return body

        places = [table, b]
        for name, steps in (("tdpbssd", ss), ("tdpbusd", us), ("tdpbsud", su)):
            places, _ = loop(builder, steps, places, [8, 1024], [], step(name))
        for tile, row, column in sums:
            line = builder.add(c, builder.mul(width, I64(16 * row)))
            move(store, tile, builder.add(line, I64(64 * column)), width)
        return context.get_dummy_value()

    return types.void(tiles, *[types.int64] * 11), generate


@kernel
def rows(left, stride, table, b, start, shapes, ss, us, su, c, count):
    """Fill `count` rows, or up to 31 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride.

    Parameters
    ----------
    left, stride : int64
        Address of the first row of int8 or uint8 operands, and bytes from row to row.
    table : int64 array, shape (steps,)
        Offset of each step in a row, in bytes.
    b : int8 array, shape (columns / 16, depth / 4, 16, 4)
        Packed right operands.
    start : int32 array, shape (columns,)
        Added to the sums of each column.
    shapes : uint8 array, shape (64,)
        `SHAPES`, the configuration of the tiles.
    ss, us, su : int
        Steps of each kind of operands, at least 0.
    c : int32 array, shape (rows, columns)
        Filled; columns is a multiple of 16, rows at least `count` rounded up to 32.
    count : int
        Rows, at least 0.
    """
    panel, width = b.shape[1] * 64, c.shape[1] * 4
    right, first, sums, offsets = address(b), address(start), address(c), address(table)
    columns = c.shape[1]
    _configure(address(shapes))
    for i in range(0, count, 32):
        for j in range(0, columns - 16, 32):
            block(
                2, left + i * stride, stride, offsets, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, ss, us, su,
            )  # fmt: skip
        if columns % 32:
            j = columns - 16
            block(
                1, left + i * stride, stride, offsets, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, ss, us, su,
            )  # fmt: skip
    _release()
