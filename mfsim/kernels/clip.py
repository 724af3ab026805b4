"""clip: y = min(max(x, lo), hi). Definition: mfsim/ops/clip.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.requantize import clamped


@kernel
def plain(x, lo, hi, low, high, y):
    for i in range(x.size):
        y[i] = clamped(x[i], lo, hi, low, high)


def run(inputs, attributes, outputs):
    clamp = attributes["clamp"]
    plain(
        inputs[0].reshape(-1),
        attributes["lo"],
        attributes["hi"],
        clamp in ("low", "both"),
        clamp in ("high", "both"),
        outputs[0].reshape(-1),
    )
