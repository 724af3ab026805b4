"""Rounding shifts and clamps of codes, as plain kernels use them."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, host_sign_bit, less, select, shift_left, shift_right, tie_to_even

ROUNDINGS = ("half_even", "half_up", "half_away", "floor", "ceil", "toward_zero")


@kernel
def round_shift(code, places, rounding):
    """Return code / 2**places rounded; places in -62..62.

    Parameters
    ----------
    code : int64
        A code; the caller proves that its shifted and rounded forms fit 64 bits.
    places : int
        Bits to the right, -62 to 62; negative ones are a left shift, which is exact.
    rounding : int
        Index into `ROUNDINGS`, 0 to 5.

    Returns
    -------
    int64
        The rounded code.
    """
    if places == 0:
        return code
    if places < 0:
        return shift_left(code, -places)
    if rounding == 0:
        floored = shift_right(code, places)
        return addsub(floored, tie_to_even(code, floored, places), 1)
    if rounding == 3:
        return shift_right(code, places)
    if rounding == 1:
        return shift_right(addsub(code, 1 << (places - 1), 1), places)
    if rounding == 4:
        return shift_right(addsub(code, (1 << places) - 1, 1), places)
    if rounding == 2:
        half = 1 << (places - 1)
        return shift_right(addsub(code, select(host_sign_bit(code), half - 1, half), 1), places)
    return shift_right(addsub(code, select(host_sign_bit(code), (1 << places) - 1, 0), 1), places)


@kernel
def clamped(code, lo, hi, low, high):
    """Clamp to lo..hi, comparing only the ends that are asked for.

    Parameters
    ----------
    code : int64
        A code.
    lo, hi : int64
        Ends of the range, both included, lo <= hi.
    low, high : bool
        Whether the lower and the upper end is compared.

    Returns
    -------
    int64
        The code, or the end that it passed.
    """
    if low:
        code = select(less(code, lo), lo, code)
    if high:
        code = select(less(hi, code), hi, code)
    return code
