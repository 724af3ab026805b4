"""Shared loops of the products with power-of-two weights: one sum of shifted terms."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, negate, shift_left


def places_and_signs(codes):
    """Return exponents (0 for the weight 0) and signs of constant weights: work done beforehand."""
    exponents = np.frexp(np.maximum(np.abs(codes), 1).astype(np.float64))[1].astype(np.int64)
    return exponents - 1, np.sign(codes)


@kernel
def shift_sums(x, places, signs, bias, first, y):
    """Fill y with bias + sum sign * x * 2**places for x (1-D) and [outputs, length]; bias may be empty."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        shifted = shift_left(x[0], places[o, 0])
        total = addsub(bias[o], shifted, signs[o, 0]) if has_bias else negate(shifted, signs[o, 0])
        for k in range(1, x.size):
            total = addsub(total, shift_left(x[k], places[o, k]), signs[o, k])
        y[i] = total
