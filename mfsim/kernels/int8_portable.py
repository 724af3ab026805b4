"""int8 products, level `portable`: blocks of 4 rows by 16 columns in LLVM vectors that no instruction set is asked for.

Layout of operands: mfsim/kernels/int8_product.py.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.emit import I64, address, broadcast, generated, load, loop, store
from mfsim.kernels.jit import kernel

ROWS = 4
_SUMS, _WORD, _WORDS = ir.VectorType(ir.IntType(32), 16), ir.IntType(16), ir.VectorType(ir.IntType(16), 16)


@generated
def block(typing, a, depth, b, start, c, width, steps):
    """Fill a block of c with start + a b; `depth` and `width` are the bytes between rows of a and of c."""

    def generate(context, builder, signature, arguments):
        a, depth, b, start, c, width, steps = arguments
        places = [builder.add(a, builder.mul(depth, I64(row))) for row in range(ROWS)]

        def body(places, sums):
            weights = builder.sext(load(builder, places[ROWS], _WORDS), _SUMS)
            lefts = [builder.sext(load(builder, place, _WORD), _SUMS.element) for place in places[:ROWS]]
            return [
                builder.add(total, builder.mul(broadcast(builder, left, 16), weights))
                for total, left in zip(sums, lefts, strict=True)
            ]

        first = [load(builder, start, _SUMS)] * ROWS
        _, sums = loop(builder, steps, [*places, b], [2] * ROWS + [32], first, body)
        for row, total in enumerate(sums):
            store(builder, total, builder.add(c, builder.mul(width, I64(row))))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), generate


@kernel
def rows(a, b, start, c):
    """Fill c int32 [rows, columns] from a [rows, depth] and panels b; rows in multiples of 4, columns of 16."""
    depth, panel, width = a.shape[1] * 2, b.shape[1] * 32, c.shape[1] * 4
    left, right, first, sums = address(a), address(b), address(start), address(c)
    for i in range(0, c.shape[0], 4):
        for p in range(c.shape[1] >> 4):
            block(
                left + i * depth, depth, right + p * panel,
                first + 64 * p, sums + i * width + 64 * p, width, b.shape[1],
            )  # fmt: skip
