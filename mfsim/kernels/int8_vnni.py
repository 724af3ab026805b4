"""int8 products, level `vnni`: blocks of 6 rows by 64 columns in 24 registers, one VPDPBUSD for 64 products.

The instruction multiplies an unsigned operand with a signed one. Layout of operands: mfsim/kernels/int8_product.py.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from mfsim.kernels.emit import I32, I64, address, broadcast, declared, generated, load, loop, store
from mfsim.kernels.jit import kernel

ROWS, VECTORS = 6, 4
_VECTOR = ir.VectorType(I32, 16)


@generated
def block(typing, a, depth, b, panel, start, c, width, us, su):
    """Fill a block of c with start + a b: `us` steps of unsigned a, then `su` steps of unsigned b.

    `depth` and `width` are the bytes between rows of a and of c, `panel` those between panels of b.
    """

    def generate(context, builder, signature, arguments):
        a, depth, b, panel, start, c, width, us, su = arguments
        dot = declared(builder, "llvm.x86.avx512.vpdpbusd.512", _VECTOR, [_VECTOR] * 3)
        places = [builder.add(a, builder.mul(depth, I64(row))) for row in range(ROWS)]
        places += [builder.add(b, builder.mul(panel, I64(k))) for k in range(VECTORS)]
        first = [load(builder, builder.add(start, I64(64 * k)), _VECTOR) for k in range(VECTORS)]

        def step(unsigned_b):
            def body(places, sums):
                weights = [load(builder, place, _VECTOR) for place in places[ROWS:]]
                following = []
                for row in range(ROWS):
                    four = broadcast(builder, load(builder, places[row], I32), 16)
                    for k, weight in enumerate(weights):
                        pair = (weight, four) if unsigned_b else (four, weight)
                        following.append(builder.call(dot, [sums[row * VECTORS + k], *pair]))
                return following

            return body

        strides = [4] * ROWS + [64] * VECTORS
        places, sums = loop(builder, us, places, strides, first * ROWS, step(False))
        places, sums = loop(builder, su, places, strides, sums, step(True))
        for row in range(ROWS):
            line = builder.add(c, builder.mul(width, I64(row)))
            for k in range(VECTORS):
                store(builder, sums[row * VECTORS + k], builder.add(line, I64(64 * k)))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), generate


@kernel
def rows(a, b, start, us, su, c):
    """Fill c int32 [rows, columns] from a [rows, depth] and panels b; rows in multiples of 6, columns of 64."""
    depth, panel, width = a.shape[1], b.shape[1] * 64, c.shape[1] * 4
    left, right, first, sums = address(a), address(b), address(start), address(c)
    for i in range(0, c.shape[0], 6):
        for j in range(0, c.shape[1], 64):
            block(
                left + i * depth, depth, right + (j >> 4) * panel, panel,
                first + 4 * j, sums + i * width + 4 * j, width, us, su,
            )  # fmt: skip
