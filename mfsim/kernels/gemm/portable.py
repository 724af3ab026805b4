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
    """Fill a register tile of a GEMM, 4 rows by 16 columns of c, with start + a b.

    Step k takes 2 bytes of each row from a + table[k] on.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    a, stride : int64
        Address of the first row of left operands, and bytes from row to row.
    table : int64
        Address of int64 offsets in bytes, one for each step.
    b : int64
        Address of the panel of right operands.
    start : int64
        Address of 16 int32 that the sums start with.
    c, width : int64
        Address of the first int32 sum, and bytes from row to row.
    steps : int64
        Steps of one 16-bit operand a row, at least 0.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
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
    """Fill `count` rows, or up to 3 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride.

    Parameters
    ----------
    left, stride : int64
        Address of the first row of int16 operands, and bytes from row to row.
    table : int64 array, shape (steps,)
        Offset of each step in a row, in bytes.
    b : int16 array, shape (columns / 16, steps, 16, 1)
        Packed right operands.
    start : int32 array, shape (columns,)
        Added to the sums of each column.
    c : int32 array, shape (rows, columns)
        Filled; columns is a multiple of 16, rows at least `count` rounded up to 4.
    count : int
        Rows, at least 0.
    """
    panel, width = b.shape[1] * 32, c.shape[1] * 4
    right, first, sums, offsets = address(b), address(start), address(c), address(table)
    for i in range(0, count, 4):
        for p in range(c.shape[1] >> 4):
            block(
                left + i * stride, stride, offsets, right + p * panel,
                first + 64 * p, sums + i * width + 64 * p, width, b.shape[1],
            )  # fmt: skip
