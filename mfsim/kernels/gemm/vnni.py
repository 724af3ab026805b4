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
    """Fill a block of c, of some vectors of columns, with start + a b.

    Step k takes 4 bytes of each row from a + table[k] on: `us` steps of unsigned a, then `su` of unsigned b.
    `stride` and `width` are the bytes between rows of a and of c, `panel` those between panels of b.
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
    """Fill `count` rows, or up to 5 more, of c int32 [rows, columns]; row i of the left operands lies at left + i stride."""
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
