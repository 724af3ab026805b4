"""int8 products, level `vnni`: blocks of 6 rows by 64 columns in 24 registers, one VPDPBUSD for 64 products.

The instruction multiplies an unsigned operand with a signed one. Layout of operands: mfsim/kernels/gemm/product.py.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import I32, I64, address, broadcast, declared, load, loop, store
from mfsim.kernels.simd.vector import emitted

ROWS = 6

_VECTOR = ir.VectorType(I32, 16)


@emitted
def block(typing, vectors, a, stride, table, b, panel, start, c, width, us, su):
    """Fill a register tile of a GEMM, 6 rows by 16 `vectors` columns of c, with start + a b.

    Step k takes 4 bytes of each row from a + table[k] on: `us` steps of unsigned a, then `su` of unsigned b.
    `stride` and `width` are the bytes between rows of a and of c, `panel` those between panels of b.

    Parameters
    ----------
    typing : numba typing context
        Passed by Numba.
    vectors : int, constant
        Vectors of 16 columns side by side, 1 or 4.
    a, stride : int64
        Address of the first row of left operands, and bytes from row to row.
    table : int64
        Address of int64 offsets in bytes, one for each step.
    b, panel : int64
        Address of the first panel of right operands, and bytes from panel to panel.
    start : int64
        Address of 16 `vectors` int32 that the sums start with.
    c, width : int64
        Address of the first int32 sum, and bytes from row to row.
    us, su : int64
        Steps of 4 bytes with unsigned left, and with unsigned right operands, at least 0.

    Returns
    -------
    tuple
        Signature and code generator, as Numba's `intrinsic` asks for; in a kernel, nothing.
    """
    vectors_ = vectors.literal_value

    def generate(context, builder, signature, arguments):
        a, stride, table, b, panel, start, c, width, us, su = arguments[1:]
        dot = declared(builder, "llvm.x86.avx512.vpdpbusd.512", _VECTOR, [_VECTOR] * 3)
        lines = [builder.add(a, builder.mul(stride, I64(row))) for row in range(ROWS)]
        panels = [builder.add(b, builder.mul(panel, I64(k))) for k in range(vectors_)]
        first = [load(builder, builder.add(start, I64(64 * k)), _VECTOR) for k in range(vectors_)]

        def step(unsigned_b):
            def body(places, sums):
                offset = load(builder, places[0], I64)
                weights = [load(builder, place, _VECTOR) for place in places[1:]]
                following = []
                for row in range(ROWS):
                    four = broadcast(builder, load(builder, builder.add(lines[row], offset), I32), 16)
                    for k, weight in enumerate(weights):
                        pair = (weight, four) if unsigned_b else (four, weight)
                        following.append(builder.call(dot, [sums[row * vectors_ + k], *pair]))
                return following

            return body

        strides = [8] + [64] * vectors_
        places, sums = loop(builder, us, [table, *panels], strides, first * ROWS, step(False))
        places, sums = loop(builder, su, places, strides, sums, step(True))
        for row in range(ROWS):
            line = builder.add(c, builder.mul(width, I64(row)))
            for k in range(vectors_):
                store(builder, sums[row * vectors_ + k], builder.add(line, I64(64 * k)))
        return context.get_dummy_value()

    return types.void(vectors, *[types.int64] * 10), generate


@kernel
def rows(left, stride, table, b, start, us, su, c, count):
    """Fill `count` rows, or up to 5 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride.

    Parameters
    ----------
    left, stride : int64
        Address of the first row of 8-bit operands, and bytes from row to row.
    table : int64 array, shape (steps,)
        Offset of each step in a row, in bytes.
    b : int8 array, shape (columns / 16, depth / 4, 16, 4)
        Packed right operands.
    start : int32 array, shape (columns,)
        Added to the sums of each column.
    us, su : int
        Steps with unsigned left, and with unsigned right operands, at least 0.
    c : int32 array, shape (rows, columns)
        Filled; columns is a multiple of 16, rows at least `count` rounded up to 6.
    count : int
        Rows, at least 0.
    """
    panel, width = b.shape[1] * 64, c.shape[1] * 4
    right, first, sums, offsets = address(b), address(start), address(c), address(table)
    whole = c.shape[1] // 64 * 64
    for i in range(0, count, 6):
        for j in range(0, whole, 64):
            block(
                4, left + i * stride, stride, offsets, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, us, su,
            )  # fmt: skip
        for j in range(whole, c.shape[1], 16):
            block(
                1, left + i * stride, stride, offsets, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, us, su,
            )  # fmt: skip
