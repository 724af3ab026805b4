"""int8 products, level `portable`: blocks of 4 rows by 16 columns in LLVM vectors that no instruction set is asked for.

Layout of operands: mfsim/kernels/gemm/product.py.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import I64, address, broadcast, generated, load, loop, store

ROWS = 4

_SUMS, _WORD, _WORDS = ir.VectorType(ir.IntType(32), 16), ir.IntType(16), ir.VectorType(ir.IntType(16), 16)


@generated
def block(typing, a, stride, table, b, start, c, width, steps):
    """Fill a block of c with start + a b; `stride` and `width` are the bytes between rows of a and of c.

    Step k takes 2 bytes of each row from a + table[k] on.
    """

    def generate(context, builder, signature, arguments):
        a, stride, table, b, start, c, width, steps = arguments
        lines = [builder.add(a, builder.mul(stride, I64(row))) for row in range(ROWS)]

        def body(places, sums):
            offset = load(builder, places[0], I64)
            weights = builder.sext(load(builder, places[1], _WORDS), _SUMS)
            lefts = [builder.sext(load(builder, builder.add(line, offset), _WORD), _SUMS.element) for line in lines]
            return [
                builder.add(total, builder.mul(broadcast(builder, left, 16), weights))
                for total, left in zip(sums, lefts, strict=True)
            ]

        first = [load(builder, start, _SUMS)] * ROWS
        _, sums = loop(builder, steps, [table, b], [8, 32], first, body)
        for row, total in enumerate(sums):
            store(builder, total, builder.add(c, builder.mul(width, I64(row))))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), generate


@kernel
def rows(left, stride, table, b, start, c, count):
    """Fill `count` rows, or up to 3 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride."""
    panel, width = b.shape[1] * 32, c.shape[1] * 4
    right, first, sums, offsets = address(b), address(start), address(c), address(table)
    for i in range(0, count, 4):
        for p in range(c.shape[1] >> 4):
            block(
                left + i * stride, stride, offsets, right + p * panel,
                first + 64 * p, sums + i * width + 64 * p, width, b.shape[1],
            )  # fmt: skip
