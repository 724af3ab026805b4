"""Products with constants as shifted copies, added and subtracted."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, negate, shift_left


def digits_of(codes):
    """Return places and signs [constants, digits] and how many digits each has, positive ones first.

    With 3 c = c + 2 c the digits of c are where the bits of 3 c and c differ: + where 3 c has the bit. This is
    work done beforehand.
    """
    found = []
    for code in codes:
        size, sign = abs(int(code)), 1 if code > 0 else -1
        plus, minus = 3 * size & ~size, size & ~(3 * size)
        digits = [(k - 1, sign if plus >> k & 1 else -sign) for k in range(1, 66) if (plus | minus) >> k & 1]
        found.append(sorted(digits, key=lambda digit: -digit[1]))
    most = max((len(digits) for digits in found), default=0)
    padded = np.array([digits + [(0, 0)] * (most - len(digits)) for digits in found], dtype=np.int64)
    padded = padded.reshape(len(found), most, 2)
    return padded[..., 0].copy(), padded[..., 1].copy(), np.array([len(digits) for digits in found], dtype=np.int64)


@kernel
def _shifted(code, places):
    return shift_left(code, places) if places > 0 else code


@kernel
def product(code, places, signs, count):
    """Return the sum of `count` shifted copies of a code, count >= 1."""
    total = _shifted(code, places[0])
    if signs[0] < 0:
        total = negate(total, -1)
    for k in range(1, count):
        total = addsub(total, _shifted(code, places[k]), signs[k])
    return total
