"""Plain kernels of the fixed-point Fourier and cosine transforms: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.arrays import as_rows, row_scratch
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, less, mul, root, select, shift_left, shift_right
from mfsim.kernels.shift_add import digits_of, product

# Shared pieces of the fixed-point transforms: changes of scale, with and without rounding.


@kernel
def _scaled(value, places):
    """Return value * 2**places, floored."""
    if places > 0:
        return shift_left(value, places)
    return shift_right(value, -places) if places < 0 else value


@kernel
def _rounded(value, places):
    """Return value * 2**places, halves up."""
    return _scaled(addsub(value, 1 << (-places - 1), 1) if places < 0 else value, places)


# Products with the cosines of a fixed-point Fourier transform, as multiplications or as shifted copies.


@kernel
def _times(code, table, k, digits):
    """Return a code times constant k; `digits` is empty where products are multiplications."""
    places, signs, counts = digits
    return product(code, places[k], signs[k], counts[k]) if counts.size else mul(code, table[k])


@kernel
def _twiddled(real, imaginary, table, k, level, digits, bits):
    """Return a code times the k-th of n points of the unit circle, 0 < k < n/4, both parts rounded.

    `table` holds the cosines for 0 .. n/4, which are sines in reverse. At 45 degrees (`level`) both are one, and taken
    out.
    """
    if level:
        across = _times(addsub(real, imaginary, -1), table, k, digits)
        along = _times(addsub(real, imaginary, 1), table, k, digits)
    else:
        sine = table.size - 1 - k
        across = addsub(_times(real, table, k, digits), _times(imaginary, table, sine, digits), -1)
        along = addsub(_times(real, table, sine, digits), _times(imaginary, table, k, digits), 1)
    return _rounded(across, -bits), _rounded(along, -bits)


# dct: Lee's cosine transform of rows in fixed point. Definition: mfsim/ops/fourier/dct.py.


@kernel
def _multiplied(code, table, k, digits, bits):
    """Return a code times multiplier k, rounded; `digits` is empty where products are multiplications."""
    if table[k] == table[0]:
        return code
    places, signs, counts = digits
    if counts.size:
        return _rounded(product(code, places[k], signs[k], counts[k]), -bits)
    return _rounded(mul(code, table[k]), -bits)


@kernel
def _split(table, digits, bits, m, v, w):
    """Fill w with the sums and the multiplied differences of each block of m codes of v."""
    half, row = m // 2, 1 + 2 * (v.size - m)
    for base in range(0, v.size, m):
        for i in range(half):
            first, last = v[base + i], v[base + m - 1 - i]
            w[base + i] = addsub(first, last, 1)
            k = row + i + (half if base > 0 else 0)
            w[base + half + i] = _multiplied(addsub(first, last, -1), table, k, digits, bits)


@kernel
def _join(m, v, w):
    """Fill w with the outputs of each block of m codes from those of its halves in v."""
    half = m // 2
    for base in range(0, v.size, m):
        for k in range(half):
            odd = base + half + k
            w[base + 2 * k] = v[base + k]
            w[base + 2 * k + 1] = addsub(v[odd], v[odd + 1], 1) if k + 1 < half else v[odd]


@kernel
def _plain_dct(x, table, digits, bits, guard, shift, odd, v, w, y):
    """Take x and y [rows, n]; v and w hold one row each."""
    n = v.size
    for r in range(x.shape[0]):
        for i in range(n):
            v[i] = shift_left(x[r, i], guard) if guard > 0 else x[r, i]
        m = n
        while m > 1:
            _split(table, digits, bits, m, v, w)
            v[:] = w
            m //= 2
        if odd:
            v[0] = _multiplied(v[0], table, table.size - 1, digits, bits)
        m = 4
        while m <= n:
            _join(m, v, w)
            v[:] = w
            m *= 2
        for i in range(n):
            y[r, i] = _rounded(v[i], shift)


def run_dct(inputs, attributes, outputs):
    """Fill the output of op `dct`: fixed-point discrete cosine transforms of rows.

    Parameters
    ----------
    inputs, outputs : int64 arrays; x [batch, ..., n], constant multipliers; y, filled, is like x
    attributes : mapping; complete attributes: `fraction`, `guard`, `products`, `shift`
    """
    x, table = inputs[0], np.array(inputs[1])
    digits = digits_of(table if attributes["products"] == "shift" else table[:0])
    _plain_dct(
        as_rows(x),
        table,
        digits,
        int(table[0]).bit_length() - 1,
        attributes["guard"],
        attributes["shift"],
        x.shape[-1].bit_length() % 2 == 0,
        row_scratch(x),
        row_scratch(x),
        as_rows(outputs[0]),
    )


# dft_magnitude: fixed-point Fourier transform of real rows in place, then magnitudes. Definition: mfsim/ops/fourier/dft_magnitude.py.


@kernel
def load(row, guard, v):
    """Fill v with the codes of a row in the order of reversed bits, G bits finer.

    Parameters
    ----------
    row, guard, v : codes [n], G in bits, at least 0, and the int64 array [n] that is filled; n is a power of two
    """
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
    """Real FFT of radix 2 in place, from the order of reversed bits: bin k at k (real part) and n - k (imaginary part).

    Parameters
    ----------
    cosines, twiddle_bits : int64 array and int; cosines in steps of 1/n of a turn, on 2**-T, and T
    digits : tuple of int64 arrays; signed digits of the cosines by `digits_of`; empty to multiply
    v : int64 array, shape (n,); codes, replaced; n is a power of two
    """
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
                across, along = _twiddled(v[odd + k], other, cosines, k * step, 8 * k == m, digits, twiddle_bits)
                v[base + k], v[odd - k] = addsub(real, across, 1), addsub(real, across, -1)
                v[base + m - k], v[odd + k] = addsub(imaginary, along, 1), addsub(along, imaginary, -1)
        m *= 2


@kernel
def _plain_dft_magnitude(x, cosines, digits, twiddle_bits, guard, power, factor, ends, v, y):
    """Take x and y [rows, n]; `v` holds one row."""
    n = v.size
    for r in range(x.shape[0]):
        load(x[r], guard, v)
        transform(cosines, digits, twiddle_bits, v)
        for k in (0, n // 2):
            size = absolute(v[k])
            y[r, k] = _rounded(mul(size, factor) if factor > 0 else size, ends)
        for k in range(1, n // 2):
            square = addsub(mul(v[k], v[k]), mul(v[n - k], v[n - k]), 1)
            y[r, k] = _rounded(root(_scaled(square, power)), -1)
            y[r, n - k] = y[r, k]


def run_dft_magnitude(inputs, attributes, outputs):
    """Fill the output of op `dft_magnitude`: fixed-point Fourier magnitudes of rows.

    Parameters
    ----------
    inputs, outputs : int64 arrays; x [batch, ..., n], constant cosines; y, filled, is like x
    attributes : mapping; complete attributes: `fraction`, `guard`, `power`, `ends`
    """
    x, cosines = inputs[0], np.array(inputs[1])
    n = x.shape[-1]
    _plain_dft_magnitude(
        as_rows(x),
        cosines,
        digits_of(cosines[:0]),
        int(cosines[0]).bit_length() - 1,
        attributes["guard"],
        attributes["power"],
        int(cosines[n // 8]) if n.bit_length() % 2 == 0 else 0,  # log2 n is odd
        attributes["ends"],
        row_scratch(x),
        as_rows(outputs[0]),
    )


# dft_alpha_beta: fixed-point Fourier transform of real rows, then estimates of magnitudes. Definition: mfsim/ops/fourier/dft_alpha_beta.py.


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
def _plain_dft_alpha_beta(x, cosines, digits, twiddle_bits, guard, shift, odd, v, y):
    """Take x and y [rows, n]; `v` holds one row."""
    n = v.size
    eighth = n // 8
    for r in range(x.shape[0]):
        load(x[r], guard, v)
        transform(cosines, digits, twiddle_bits, v)
        for k in (0, n // 2):
            size = absolute(v[k])
            y[r, k] = _rounded(_times(size, cosines, eighth, digits) if odd else size, shift + 3)
        for k in range(1, n // 2):
            estimate = _estimate(v[k], v[n - k])
            y[r, k] = _rounded(_times(estimate, cosines, eighth, digits) if odd else estimate, shift)
            y[r, n - k] = y[r, k]


def run_dft_alpha_beta(inputs, attributes, outputs):
    """Fill the output of op `dft_alpha_beta`: alpha-max plus beta-min estimates of Fourier magnitudes of rows.

    Parameters
    ----------
    inputs, outputs : int64 arrays; x [batch, ..., n], constant cosines; y, filled, is like x
    attributes : mapping; complete attributes: `fraction`, `guard`, `products`, `shift`
    """
    x, cosines = inputs[0], np.array(inputs[1])
    _plain_dft_alpha_beta(
        as_rows(x),
        cosines,
        digits_of(cosines if attributes["products"] == "shift" else cosines[:0]),
        int(cosines[0]).bit_length() - 1,
        attributes["guard"],
        attributes["shift"],
        x.shape[-1].bit_length() % 2 == 0,  # log2 n is odd
        row_scratch(x),
        as_rows(outputs[0]),
    )


# filterbank: fixed-point Fourier transforms of images of patches, gains between them. Definition: mfsim/ops/fourier/filterbank.py.


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
                    real, imaginary = _twiddled(real, imaginary, table, at, 8 * rest == m, digits, bits)
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
            v[k] = _rounded(_times(v[k], gains, first + k, digits), -places)


@kernel
def _pass(x, places, y):
    """Fill y with the codes of tokens that are not transformed, on the grid of the result."""
    for t in range(x.size):
        y[t] = _rounded(x[t], places)


@kernel
def _plain_filterbank(x, table, digits, bits, gains, gain_digits, places, guard, shift, passed, re, im, y):
    """Take x and y [images, tokens, features], one image for each head; `gains` are those of all heads, flat."""
    size = re.size
    passing = x.shape[1] - size
    for s in range(x.shape[0]):
        first = s % (gains.size // size) * size
        for f in range(x.shape[2]):
            _pass(x[s, :passing, f], passed, y[s, :passing, f])
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
                y[s, passing + k, f] = _rounded(re[k], shift)
                if both:
                    y[s, passing + k, f + 1] = _rounded(im[k], shift)


def run_filterbank(inputs, attributes, outputs):
    """Fill the output of op `filterbank`: frequency-domain filtered images of each head.

    Parameters
    ----------
    inputs, outputs : int64 arrays; x [batch, heads, tokens, features], cosines, gains [heads, g, g]; y is like x
    attributes : mapping; complete attributes: `fraction`, `guard`, `passing`, `products`, `gain_places`, `shift`
    """
    x, cosines, gains = inputs[0], np.array(inputs[1]), np.array(inputs[2])
    grid = gains.shape[1]
    by_shifts = attributes["products"] == "shift"
    shape = (-1, *x.shape[2:])
    _plain_filterbank(
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
