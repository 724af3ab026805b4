"""Shared loops of the dense products: sums of products."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, mul


@kernel
def product_sums(x, w, bias, first, y):
    """Fill y with bias + sum x * w for x (1-D) and w [outputs, length], outputs `first` onwards; bias may be empty."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        total = mul(x[0], w[o, 0])
        if has_bias:
            total = addsub(bias[o], total, 1)
        for k in range(1, x.size):
            total = addsub(total, mul(x[k], w[o, k]), 1)
        y[i] = total
