"""Rounding shifts and clamps of codes, as plain kernels use them."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, host_sign_bit, less, select, shift_left, shift_right, tie_to_even

ROUNDINGS = ("half_even", "half_up", "half_away", "floor", "ceil", "toward_zero")


@kernel
def round_shift(code, places, rounding):
    """Return code / 2**places rounded; places in -62..62."""
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
    """Clamp to lo..hi, comparing only the ends that are asked for."""
    if low:
        code = select(less(code, lo), lo, code)
    if high:
        code = select(less(hi, code), hi, code)
    return code
