"""Shared pieces of the fixed-point transforms: changes of scale, with and without rounding."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, shift_left, shift_right


@kernel
def scaled(value, places):
    """Return value * 2**places, floored."""
    if places > 0:
        return shift_left(value, places)
    return shift_right(value, -places) if places < 0 else value


@kernel
def rounded(value, places):
    """Return value * 2**places, halves up."""
    return scaled(addsub(value, 1 << (-places - 1), 1) if places < 0 else value, places)
