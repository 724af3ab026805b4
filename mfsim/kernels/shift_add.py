"""Products with constants as shifted copies, added and subtracted."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, negate, shift_left


def digits_of(codes):
    """Return the non-adjacent forms of constants: places and signs [constants, digits], and how many digits each has.

    With 3 c = c + 2 c the digits of c are where the bits of 3 c and c differ: + where 3 c has the bit. This is
    work done beforehand.

    Parameters
    ----------
    codes : sequence of int, shape (constants,)
        Constants, in int64.

    Returns
    -------
    tuple of int64 arrays
        Places, 0 to 63, and signs, -1 or +1, both of shape (constants, digits), padded with 0, positive digits
        first; numbers of digits, shape (constants,).
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
    """Return the product of a code with a constant as the sum of `count` shifted copies, count >= 1.

    Parameters
    ----------
    code : int64
        A code; the caller proves that all partial sums fit 64 bits.
    places : int64 array, shape (digits,)
        Left shift of each digit, in bits.
    signs : int64 array, shape (digits,)
        -1 or +1 for each digit.
    count : int
        Digits used, 1 to digits.

    Returns
    -------
    int64
        code times sum(signs * 2**places) over the first `count` digits.
    """
    total = _shifted(code, places[0])
    if signs[0] < 0:
        total = negate(total, -1)
    for k in range(1, count):
        total = addsub(total, _shifted(code, places[k]), signs[k])
    return total
