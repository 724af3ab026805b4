"""dft_alpha_beta: fixed-point Fourier transform of real rows, then estimates of magnitudes. Definition: mfsim/ops/dft_alpha_beta.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.csd_gain import digits_of
from mfsim.kernels.dft_magnitude import load, transform
from mfsim.kernels.fixed_point import rounded
from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, scratch
from mfsim.kernels.primitives import absolute, addsub, less, select, shift_left
from mfsim.kernels.turns import times


@kernel
def _estimate(real, imaginary):
    """Return 8 times an estimate of a magnitude."""
    a, b = absolute(real), absolute(imaginary)
    swapped = less(a, b)
    greater, smaller = select(swapped, b, a), select(swapped, a, b)
    whole = shift_left(greater, 3)
    flat = addsub(whole, smaller, 1)
    steep = addsub(addsub(whole, greater, -1), shift_left(smaller, 2), 1)
    return select(less(flat, steep), steep, flat)


@kernel
def plain(x, cosines, digits, twiddle_bits, guard, shift, odd, v, y):
    """Take x and y [rows, n]; `v` holds one row."""
    n = v.size
    eighth = n // 8
    for r in range(x.shape[0]):
        load(x[r], guard, v)
        transform(cosines, digits, twiddle_bits, v)
        for k in (0, n // 2):
            size = absolute(v[k])
            y[r, k] = rounded(times(size, cosines, eighth, digits) if odd else size, shift + 3)
        for k in range(1, n // 2):
            estimate = _estimate(v[k], v[n - k])
            y[r, k] = rounded(times(estimate, cosines, eighth, digits) if odd else estimate, shift)
            y[r, n - k] = y[r, k]


def run(inputs, attributes, outputs):
    x, cosines = inputs[0], np.array(inputs[1])
    plain(
        as_rows(x),
        cosines,
        digits_of(cosines if attributes["products"] == "shift" else cosines[:0]),
        int(cosines[0]).bit_length() - 1,
        attributes["guard"],
        attributes["shift"],
        x.shape[-1].bit_length() % 2 == 0,  # log2 n is odd
        scratch(x),
        as_rows(outputs[0]),
    )
