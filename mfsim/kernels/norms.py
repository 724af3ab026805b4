"""What the kernels of the norms share: N q, the sums of a row, its root, and rounded quotients.

Definitions: mfsim/ops/norms.py, mfsim/ops/root_norms.py. A row is the last axis.
"""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import (
    absolute,
    addsub,
    divide,
    host_by_sign,
    host_places,
    less,
    mul,
    negate,
    root,
    select,
    shift_left,
    shift_right,
)


@kernel
def times(code, factor, by_shifts):
    """Return factor * code, factor >= 1: one product, or a shift for each bit of the factor and their sum."""
    if not by_shifts:
        return mul(code, factor)
    place = 0
    while not factor >> place & 1:
        place += 1
    total = shift_left(code, place) if place > 0 else code
    place += 1
    while factor >> place:
        if factor >> place & 1:
            total = addsub(total, shift_left(code, place), 1)
        place += 1
    return total


@kernel
def row_sum(row):
    """Return the sum of a row."""
    total = row[0]
    for i in range(1, row.size):
        total = addsub(total, row[i], 1)
    return total


@kernel
def centre(row, by_shifts, centred):
    """Fill `centred` with N q - sum q, and return sum q."""
    total = row_sum(row)
    for i in range(row.size):
        centred[i] = addsub(times(row[i], row.size, by_shifts), total, -1)
    return total


@kernel
def absolutes(codes, magnitudes):
    """Fill `magnitudes` with |codes|."""
    for i in range(codes.size):
        magnitudes[i] = absolute(codes[i])


@kernel
def scaled_squares(row, by_shifts):
    """Return N sum q**2."""
    squares = mul(row[0], row[0])
    for i in range(1, row.size):
        squares = addsub(squares, mul(row[i], row[i]), 1)
    return times(squares, row.size, by_shifts)


@kernel
def spread(row, total, by_shifts):
    """Return N sum q**2 - total**2, where `total` is the sum of the row."""
    return addsub(scaled_squares(row, by_shifts), mul(total, total), -1)


@kernel
def guarded_root(variation, guard, eps):
    """Return max(1, floor(sqrt(variation * 4**guard + eps)))."""
    shifted = shift_left(variation, 2 * guard) if guard > 0 else variation
    found = root(addsub(shifted, eps, 1))
    return select(less(found, 1), 1, found)


@kernel
def divided(codes, gamma, found, shift, y):
    """Fill y with codes * gamma * 2**shift / found, rounded to the nearest, halves away from 0."""
    added = shift_left(found, -shift) if shift < 0 else found
    divisor = shift_left(found, 1 + max(-shift, 0))
    for i in range(codes.size):
        weighted = mul(codes[i], gamma[i])
        numerator = addsub(shift_left(absolute(weighted), 1 + max(shift, 0)), added, 1)
        y[i] = negate(divide(numerator, divisor), host_by_sign(weighted, -1, 1))


@kernel
def multiplied(codes, gamma, found, power, shift, y):
    """Fill y with codes * gamma * (2**power // found) * 2**(shift - power), rounded likewise."""
    reciprocal = divide(1 << power, found)
    places = power - shift
    for i in range(codes.size):
        weighted = mul(codes[i], gamma[i])
        product = addsub(mul(absolute(weighted), reciprocal), 1 << (places - 1), 1)
        y[i] = negate(shift_right(product, places), host_by_sign(weighted, -1, 1))


@kernel
def shifted(codes, magnitudes, power, places, y):
    """Fill y with codes * 2**(places - 8 - power), rounded to the nearest, halves away from 0."""
    half = shift_left(1, host_places(power, 7))
    for i in range(codes.size):
        scaled = shift_left(magnitudes[i], places[i]) if places[i] > 0 else magnitudes[i]
        y[i] = negate(shift_right(addsub(scaled, half, 1), host_places(power, 8)), host_by_sign(codes[i], -1, 1))


@kernel
def offset(beta, y):
    """Add beta to y."""
    for i in range(y.size):
        y[i] = addsub(y[i], beta[i], 1)


def as_rows(codes):
    """Return `codes` as [rows, N]."""
    return codes.reshape(-1, codes.shape[-1])


def scratch(codes):
    """Return room for one row of the type of `codes`."""
    return np.empty(codes.shape[-1], dtype=codes.dtype)
