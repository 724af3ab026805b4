"""Tables of all 256 bytes: looked up by shuffles of 64 bytes where the processor has them, or one byte after the other."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.vector import emitted, load, store

LANES = 64
"""Bytes of a vector."""

_BYTES = ir.VectorType(ir.IntType(8), LANES)


@emitted
def _look_up_vector(typing, x, at, table, y):
    """Look up the bytes at .. at + 63 of x: each half of the table by the low 7 bits, and then by the highest bit."""

    def generate(context, builder, signature, arguments):
        source, entries, target = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data for k in (0, 2, 3)
        )
        places = load(builder, source, arguments[1], LANES)
        parts = [load(builder, entries, cgutils.intp_t(start), LANES) for start in range(0, 256, LANES)]
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        permute = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_BYTES, [_BYTES, _BYTES, _BYTES]), name
        )
        low, high = (builder.call(permute, [parts[k], places, parts[k + 1]]) for k in (0, 2))
        upper = builder.icmp_signed("<", places, ir.Constant(_BYTES, [0] * LANES))
        store(builder, builder.select(upper, high, low), target, arguments[1])
        return context.get_dummy_value()

    return types.void(x, types.intp, table, y), generate


@kernel
def _look_up_vectors(x, y, table):
    """Fill y with the entries of `table` at x, flat arrays of bytes; for AVX-512 VBMI."""
    whole = x.size - x.size % LANES
    for at in range(0, whole, LANES):
        _look_up_vector(x, at, table, y)
    for i in range(whole, x.size):
        y[i] = table[x[i]]


@kernel
def _look_up_bytes(x, y, table):
    """Fill y with the entries of `table` at x, flat arrays of bytes."""
    for i in range(x.size):
        y[i] = table[x[i]]


LOOK_UPS = {"vbmi": _look_up_vectors, "portable": _look_up_bytes}
"""For each level the kernel that looks bytes up."""
