"""rescale: multiply by a fixed-point constant, shift, round, saturate. Definition: mfsim/ops/rescale.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import host_differs, mul
from mfsim.kernels.requantize import ROUNDINGS, clamped, round_shift


@kernel
def plain(x, multipliers, shifts, inner, rounding, lo, hi, low, high, y):
    """Rescale x of shape (outer, channels, inner), flat; return the number of codes that did not fit."""
    events = 0
    channels = shifts.size
    for i in range(x.size):
        channel = i // inner % channels
        code = x[i]
        if multipliers[channel] != 1:
            code = mul(code, multipliers[channel])
        code = round_shift(code, shifts[channel], rounding)
        fitted = clamped(code, lo, hi, low, high)
        if host_differs(code, fitted):
            events += 1
        y[i] = fitted
    return events


def run(inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]) -> int:
    """Fill outputs[0]; return how many codes did not fit."""
    x, axis, bits = inputs[0], attributes["axis"], attributes["bits"]
    signed = attributes["signed"] == 1
    events: int = plain(
        x.reshape(-1),
        np.array(attributes["multiplier"], dtype=np.int64),
        np.array(attributes["shift"], dtype=np.int64),
        1 if axis < 0 else int(np.prod(x.shape[axis + 1 :], dtype=np.int64)),
        ROUNDINGS.index(attributes["rounding"]),
        -(1 << (bits - 1)) + attributes["narrow"] if signed else 0,
        (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1,
        attributes["clamp"] in ("low", "both"),
        attributes["clamp"] in ("high", "both"),
        outputs[0].reshape(-1),
    )
    return events
