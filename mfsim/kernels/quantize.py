"""quantize and dequantize: between real values and codes. Definition: mfsim/fixed_point.py.

A double is mantissa * 2**exponent with an integer mantissa of at most 53 bits, so rounding it to a
grid is the rounding shift of requantize. These loops stand at the border of the integer program:
taking a double apart is no operation of the device.
"""

from __future__ import annotations

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


@kernel
def dequantize(codes, exponents, inner, values):
    """Fill flat `values` from flat `codes` of shape (outer, channels, inner)."""
    channels = exponents.size
    for i in range(codes.size):
        values[i] = math.ldexp(np.float64(codes[i]), exponents[i // inner % channels])
