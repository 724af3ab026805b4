"""dft_magnitude: fixed-point Fourier transform of real rows in place, then magnitudes. Definition: mfsim/ops/dft_magnitude.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.csd_gain import digits_of
from mfsim.kernels.fixed_point import rounded, scaled
from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, scratch
from mfsim.kernels.primitives import absolute, addsub, mul, root, shift_left
from mfsim.kernels.turns import turned


@kernel
def load(row, guard, v):
    """Fill v with the codes of a row in the order of reversed bits, G bits finer."""
    j = 0
    for i in range(v.size):
        v[j] = shift_left(row[i], guard) if guard > 0 else row[i]
        bit = v.size >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit


@kernel
def transform(cosines, digits, twiddle_bits, v):
    """Transform v, in the order of reversed bits: bin k at k (real part) and n - k (imaginary part)."""
    m, n = 2, v.size
    while m <= n:
        half, step = m // 2, n // m
        for base in range(0, n, m):
            odd = base + half
            low, high = v[base], v[odd]
            v[base], v[odd] = addsub(low, high, 1), addsub(low, high, -1)
            for k in range(1, m // 4):
                real, imaginary = v[base + k], v[odd - k]
                other = v[base + m - k]
                across, along = turned(v[odd + k], other, cosines, k * step, 8 * k == m, digits, twiddle_bits)
                v[base + k], v[odd - k] = addsub(real, across, 1), addsub(real, across, -1)
                v[base + m - k], v[odd + k] = addsub(imaginary, along, 1), addsub(along, imaginary, -1)
        m *= 2


@kernel
def plain(x, cosines, digits, twiddle_bits, guard, power, factor, ends, v, y):
    """Take x and y [rows, n]; `v` holds one row."""
    n = v.size
    for r in range(x.shape[0]):
        load(x[r], guard, v)
        transform(cosines, digits, twiddle_bits, v)
        for k in (0, n // 2):
            size = absolute(v[k])
            y[r, k] = rounded(mul(size, factor) if factor > 0 else size, ends)
        for k in range(1, n // 2):
            square = addsub(mul(v[k], v[k]), mul(v[n - k], v[n - k]), 1)
            y[r, k] = rounded(root(scaled(square, power)), -1)
            y[r, n - k] = y[r, k]


def run(inputs, attributes, outputs):
    x, cosines = inputs[0], np.array(inputs[1])
    n = x.shape[-1]
    plain(
        as_rows(x),
        cosines,
        digits_of(cosines[:0]),
        int(cosines[0]).bit_length() - 1,
        attributes["guard"],
        attributes["power"],
        int(cosines[n // 8]) if n.bit_length() % 2 == 0 else 0,  # log2 n is odd
        attributes["ends"],
        scratch(x),
        as_rows(outputs[0]),
    )
