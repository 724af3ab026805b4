"""int8 products, level `amx`: blocks of 32 rows by 32 columns in four tiles, 16 K products an instruction.

Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns. Their shapes belong to the thread: every call sets and
releases them. Layout of operands: mfsim/kernels/int8_product.py.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types

from mfsim.kernels.emit import I8, I64, address, declared, generated, loop, pointer
from mfsim.kernels.jit import kernel

_VOID, _BYTES = ir.VoidType(), I8.as_pointer()

SHAPES = np.zeros(64, dtype=np.uint8)
"""Palette 1; all eight tiles have 16 rows of 64 bytes."""
SHAPES[0] = 1
SHAPES[16:32:2] = 64
SHAPES[48:56] = 16


@generated
def configure(typing, shapes):
    """Set the tiles of this thread to the shapes at an address."""

    def generate(context, builder, signature, arguments):
        load = declared(builder, "llvm.x86.ldtilecfg", _VOID, [_BYTES])
        builder.call(load, [pointer(builder, arguments[0], I8)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@generated
def release(typing):
    """Give the tiles of this thread back, so that a change of threads does not save them."""

    def generate(context, builder, signature, arguments):
        builder.call(declared(builder, "llvm.x86.tilerelease", _VOID, []), [])
        return context.get_dummy_value()

    return types.void(), generate


@generated
def block(typing, a, depth, b, panel, start, c, width, ss, us, su):
    """Fill a block of c with start + a b: `ss` steps of signed operands, `us` of unsigned a, `su` of unsigned b.

    `depth` and `width` are the bytes between rows of a and of c, `panel` those between panels of b.
    """

    def generate(context, builder, signature, arguments):
        a, depth, b, panel, start, c, width, ss, us, su = arguments
        load = declared(builder, "llvm.x86.tileloadd64", _VOID, [I8, _BYTES, I64])
        store = declared(builder, "llvm.x86.tilestored64", _VOID, [I8, _BYTES, I64])

        def move(function, tile, address, stride):
            builder.call(function, [I8(tile), pointer(builder, address, I8), stride])

        for tile in range(4):
            move(load, tile, builder.add(start, I64(64 * (tile & 1))), I64(0))
        lower = builder.mul(depth, I64(16))

        def step(name):
            dot = declared(builder, f"llvm.x86.{name}", _VOID, [I8, I8, I8])

            def body(places, sums):
                left, right = places
                move(load, 6, right, I64(64))
                move(load, 4, left, depth)
                move(load, 7, builder.add(right, panel), I64(64))
                builder.call(dot, [I8(0), I8(4), I8(6)])
                builder.call(dot, [I8(1), I8(4), I8(7)])
                move(load, 5, builder.add(left, lower), depth)
                builder.call(dot, [I8(2), I8(5), I8(6)])
                builder.call(dot, [I8(3), I8(5), I8(7)])
                return []

            return body

        places = [a, b]
        for name, steps in (("tdpbssd", ss), ("tdpbusd", us), ("tdpbsud", su)):
            places, _ = loop(builder, steps, places, [64, 1024], [], step(name))
        for tile in range(4):
            line = builder.add(c, builder.mul(width, I64(16 * (tile >> 1))))
            move(store, tile, builder.add(line, I64(64 * (tile & 1))), width)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10), generate


@kernel
def rows(a, b, start, shapes, ss, us, su, c):
    """Fill c int32 [rows, columns] from a [rows, depth] and panels b; rows and columns in multiples of 32."""
    depth, panel, width = a.shape[1], b.shape[1] * 64, c.shape[1] * 4
    left, right, first, sums = address(a), address(b), address(start), address(c)
    configure(address(shapes))
    for i in range(0, c.shape[0], 32):
        for j in range(0, c.shape[1], 32):
            block(
                left + i * depth, depth, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, ss, us, su,
            )  # fmt: skip
    release()
