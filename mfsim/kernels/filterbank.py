"""filterbank: fixed-point Fourier transforms of images of patches, gains between them. Definition: mfsim/ops/filterbank.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.csd_gain import digits_of
from mfsim.kernels.fixed_point import rounded
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, shift_left
from mfsim.kernels.turns import times, turned


@kernel
def _line(re, im, start, step, table, digits, bits):
    """Transform n = 4 (table.size - 1) codes at start, start + step, ... of both parts, in place."""
    n = 4 * (table.size - 1)
    j = 0
    for i in range(n):
        if i < j:
            a, b = start + i * step, start + j * step
            re[a], re[b] = re[b], re[a]
            im[a], im[b] = im[b], im[a]
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
    m = 2
    while m <= n:
        for base in range(0, n, m):
            for k in range(m // 2):
                a, b = start + (base + k) * step, start + (base + k + m // 2) * step
                quarter = m > 2 and k >= m // 4
                rest = k - m // 4 if quarter else k
                real, imaginary = re[b], im[b]
                if rest > 0:
                    at = rest * (n // m)
                    real, imaginary = turned(real, imaginary, table, at, 8 * rest == m, digits, bits)
                low, high = re[a], im[a]
                if quarter:  # times j: the parts change places, and one is subtracted
                    re[a], re[b] = addsub(low, imaginary, -1), addsub(low, imaginary, 1)
                    im[a], im[b] = addsub(high, real, 1), addsub(high, real, -1)
                else:
                    re[a], re[b] = addsub(low, real, 1), addsub(low, real, -1)
                    im[a], im[b] = addsub(high, imaginary, 1), addsub(high, imaginary, -1)
        m *= 2


@kernel
def _transform(re, im, table, digits, bits):
    """Transform the rows and then the columns of an image."""
    n = 4 * (table.size - 1)
    for row in range(n):
        _line(re, im, row * n, 1, table, digits, bits)
    for column in range(n):
        _line(re, im, column, n, table, digits, bits)


@kernel
def _gained(v, gains, first, digits, places):
    """Multiply the bins v by the gains from `first` on, rounded."""
    counts = digits[2]
    for k in range(v.size):
        if counts.size and counts[first + k] == 0:
            v[k] = 0
        else:
            v[k] = rounded(times(v[k], gains, first + k, digits), -places)


@kernel
def plain(x, table, digits, bits, gains, gain_digits, places, guard, shift, passed, re, im, y):
    """Take x and y [images, tokens, features], one image for each head; `gains` are those of all heads, flat."""
    size = re.size
    passing = x.shape[1] - size
    for s in range(x.shape[0]):
        first = s % (gains.size // size) * size
        for f in range(x.shape[2]):
            for t in range(passing):
                y[s, t, f] = rounded(x[s, t, f], passed)
        for f in range(0, x.shape[2], 2):
            both = f + 1 < x.shape[2]
            for k in range(size):
                re[k] = shift_left(x[s, passing + k, f], guard) if guard > 0 else x[s, passing + k, f]
                im[k] = 0
                if both:
                    im[k] = shift_left(x[s, passing + k, f + 1], guard) if guard > 0 else x[s, passing + k, f + 1]
            _transform(re, im, table, digits, bits)
            _gained(re, gains, first, gain_digits, places)
            _gained(im, gains, first, gain_digits, places)
            _transform(im, re, table, digits, bits)
            for k in range(size):
                y[s, passing + k, f] = rounded(re[k], shift)
                if both:
                    y[s, passing + k, f + 1] = rounded(im[k], shift)


def run(inputs, attributes, outputs):
    x, cosines, gains = inputs[0], np.array(inputs[1]), np.array(inputs[2])
    grid = gains.shape[1]
    by_shifts = attributes["products"] == "shift"
    shape = (-1, *x.shape[2:])
    plain(
        x.reshape(shape),
        cosines,
        digits_of(cosines if by_shifts else cosines[:0]),
        int(cosines[0]).bit_length() - 1,
        gains.reshape(-1),
        digits_of(gains.reshape(-1) if by_shifts else gains.reshape(-1)[:0]),
        attributes["gain_places"],
        attributes["guard"],
        attributes["shift"],
        attributes["shift"] + attributes["guard"] + 2 * (grid.bit_length() - 1),
        np.zeros(grid * grid, dtype=x.dtype),
        np.zeros(grid * grid, dtype=x.dtype),
        outputs[0].reshape(shape),
    )
