"""quantize and dequantize: between real values and codes. Definition: mfsim/fixed_point.py.

A double is mantissa * 2**exponent with an integer mantissa of at most 53 bits, so rounding it to a
grid is the rounding shift of requantize. These loops stand at the border of the integer program:
taking a double apart is no operation of the device.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import host_wrap
from mfsim.kernels.requantize import clamped, round_shift

MANTISSA_BITS = 53
FARTHEST_LEFT = 63 - MANTISSA_BITS
FARTHEST_RIGHT = 62


@kernel
def fitted(mantissa, places, rounding, wrap, bits, signed, lo, hi):
    """Return mantissa / 2**places, rounded and fitted into the word, for any places.

    Right of 54 places only the sign of the mantissa matters. A result left of int64 is past every
    word, and its low 64 bits are all that wrapping needs.
    """
    if places >= -FARTHEST_LEFT:
        code = round_shift(mantissa, min(places, FARTHEST_RIGHT), rounding)
        return host_wrap(code, bits, signed) if wrap else clamped(code, lo, hi, True, True)
    if wrap:
        return host_wrap(mantissa << -places if places > -64 else 0, bits, signed)
    return hi if mantissa > 0 else lo


@kernel
def quantize(values, exponents, inner, rounding, wrap, bits, signed, lo, hi, codes):
    """Fill flat `codes` from flat `values` of shape (outer, channels, inner).

    Return the index of the first value that is not finite, or -1.
    """
    channels = exponents.size
    for i in range(values.size):
        value = np.float64(values[i])
        if not math.isfinite(value):
            return i
        fraction, exponent = math.frexp(value)
        mantissa = int(math.ldexp(fraction, MANTISSA_BITS))
        places = exponents[i // inner % channels] - exponent + MANTISSA_BITS if mantissa != 0 else 0
        codes[i] = fitted(mantissa, places, rounding, wrap, bits, signed, lo, hi)
    return -1


QUICK_BITS = 52
"""Words of at most as many bits are rounded as doubles, where the scaled values are exact ones."""
QUICK_EXPONENT = 400
LEAST_QUICK, GREATEST_QUICK = 2.0**-500, 2.0**500
"""Magnitudes whose quotients by 2**-400 ... 2**400 are exact doubles."""


@kernel
def rounded(scaled, rounding):
    """Return a double rounded to an integer by the rule of that number."""
    if rounding == 0:
        return np.rint(scaled)
    if rounding == 1:
        floor = np.floor(scaled)
        return floor + (scaled - floor >= 0.5)
    if rounding == 2:
        size = abs(scaled)
        floor = np.floor(size)
        return math.copysign(floor + (size - floor >= 0.5), scaled)
    if rounding == 3:
        return np.floor(scaled)
    if rounding == 4:
        return np.ceil(scaled)
    return np.trunc(scaled)


@functools.cache
def quick(rounding):
    """Return the kernel for words of `QUICK_BITS` that saturate; it returns whether it could do all values.

    `rounding` is the number of a rule. The kernel takes values [rows, n] of channel r % channels, and says no where one
    is not finite or its magnitude is out of bounds.
    """

    @kernel
    def quantize_quickly(values, exponents, lo, hi, codes):
        low, high, odd = np.float64(lo), np.float64(hi), 0
        for r in range(values.shape[0]):
            step = math.ldexp(1.0, -exponents[r % exponents.size])
            row, out = values[r], codes[r]
            for i in range(row.size):
                value = np.float64(row[i])
                size = abs(value)
                odd += not (size == 0.0 or (size >= LEAST_QUICK and size <= GREATEST_QUICK))
                code = rounded(value * step, rounding)
                code = low if code < low else code
                code = high if code > high else code
                out[i] = np.int64(code)
        return odd == 0

    return quantize_quickly


@kernel
def dequantize(codes, exponents, inner, values):
    """Fill flat `values` from flat `codes` of shape (outer, channels, inner)."""
    channels = exponents.size
    for i in range(codes.size):
        values[i] = math.ldexp(np.float64(codes[i]), exponents[i // inner % channels])
