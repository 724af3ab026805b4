"""int8 products, level `avx2`: 16-bit operands, blocks of 6 rows by 16 columns in 12 registers, VPMADDWD and an add.

VPMADDUBSW would take the operands in 8 bits, but its sums of two products saturate at 16 bits.
Layout of operands: mfsim/kernels/gemm/product.py.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import I32, I64, address, broadcast, declared, generated, load, loop, store

ROWS, VECTORS = 6, 2

_SUMS, _WORDS = ir.VectorType(I32, 8), ir.VectorType(ir.IntType(16), 16)


@generated
def block(typing, a, stride, table, b, start, c, width, steps):
    """Fill a register tile of a GEMM, 6 rows by 16 columns of c, with start + a b.

    Step k takes 4 bytes of each row from a + table[k] on.

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
        Steps of two 16-bit operands a row, at least 0.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """

    def generate(context, builder, signature, arguments):
        a, stride, table, b, start, c, width, steps = arguments
        dot = declared(builder, "llvm.x86.avx2.pmadd.wd", _SUMS, [_WORDS, _WORDS])
        lines = [builder.add(a, builder.mul(stride, I64(row))) for row in range(ROWS)]
        first = [load(builder, builder.add(start, I64(32 * k)), _SUMS) for k in range(VECTORS)]

        def body(places, sums):
            offset = load(builder, places[0], I64)
            weights = [load(builder, builder.add(places[1], I64(32 * k)), _WORDS) for k in range(VECTORS)]
            following = []
            for row in range(ROWS):
                pair = builder.bitcast(
                    broadcast(builder, load(builder, builder.add(lines[row], offset), I32), 8), _WORDS
                )
                for k, weight in enumerate(weights):
                    products = builder.call(dot, [pair, weight])
                    following.append(builder.add(sums[row * VECTORS + k], products))
            return following

        _, sums = loop(builder, steps, [table, b], [8, 64], first * ROWS, body)
        for row in range(ROWS):
            line = builder.add(c, builder.mul(width, I64(row)))
            for k in range(VECTORS):
                store(builder, sums[row * VECTORS + k], builder.add(line, I64(32 * k)))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), generate


@kernel
def rows(left, stride, table, b, start, c, count):
    """Fill `count` rows, or up to 5 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride.

    Parameters
    ----------
    left, stride : int64
        Address of the first row of int16 operands, and bytes from row to row.
    table : int64 array, shape (steps,)
        Offset of each step in a row, in bytes.
    b : int16 array, shape (columns / 16, steps, 16, 2)
        Packed right operands.
    start : int32 array, shape (columns,)
        Added to the sums of each column.
    c : int32 array, shape (rows, columns)
        Filled; columns is a multiple of 16, rows at least `count` rounded up to 6.
    count : int
        Rows, at least 0.
    """
    panel, width = b.shape[1] * 64, c.shape[1] * 4
    right, first, sums, offsets = address(b), address(start), address(c), address(table)
    for i in range(0, count, 6):
        for p in range(c.shape[1] >> 4):
            block(
                left + i * stride, stride, offsets, right + p * panel,
                first + 64 * p, sums + i * width + 64 * p, width, b.shape[1],
            )  # fmt: skip
