"""requantize: shift, round, fit into a word. Definition: mfsim/ops/requantize.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import (
    addsub,
    host_by_sign,
    host_differs,
    host_wrap,
    less,
    select,
    shift_left,
    shift_right,
    tie_to_even,
)

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
        return shift_right(addsub(code, host_by_sign(code, half - 1, half), 1), places)
    return shift_right(addsub(code, host_by_sign(code, (1 << places) - 1, 0), 1), places)


@kernel
def clamped(code, lo, hi, low, high):
    """Clamp to lo..hi, comparing only the ends that are asked for."""
    if low:
        code = select(less(code, lo), lo, code)
    if high:
        code = select(less(hi, code), hi, code)
    return code


@kernel
def plain(x, shifts, inner, rounding, wrap, bits, signed, lo, hi, low, high, y):
    """Fit x of shape (outer, channels, inner), flat; return the number of codes that did not fit."""
    events = 0
    channels = shifts.size
    for i in range(x.size):
        code = round_shift(x[i], shifts[i // inner % channels], rounding)
        fitted = host_wrap(code, bits, signed) if wrap else clamped(code, lo, hi, low, high)
        if host_differs(code, fitted):
            events += 1
        y[i] = fitted
    return events


def run(inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> int:
    """Fill outputs[0]; return how many codes did not fit."""
    x, axis, bits = inputs[0], attributes["axis"], attributes["bits"]
    inner = 1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
    signed = attributes["signed"] == 1
    lo = -(1 << (bits - 1)) + attributes["narrow"] if signed else 0
    hi = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    events: int = plain(
        x.reshape(-1),
        np.array(attributes["shift"], dtype=np.int64),
        inner,
        ROUNDINGS.index(attributes["rounding"]),
        attributes["overflow"] == "wrap",
        bits,
        signed,
        lo,
        hi,
        attributes["clamp"] in ("low", "both"),
        attributes["clamp"] in ("high", "both"),
        outputs[0].reshape(-1),
    )
    return events
