"""What the kernels of add and sub share: one addition or subtraction for each code."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, shift_left


@kernel
def plain(a, b, places_a, places_b, mode, y):
    """Fill y with a + mode * b, each shifted left first; b is as long as a, or as one sample of a."""
    for i in range(a.size):
        left = shift_left(a[i], places_a) if places_a > 0 else a[i]
        right = shift_left(b[i % b.size], places_b) if places_b > 0 else b[i % b.size]
        y[i] = addsub(left, right, mode)


def combine(inputs, attributes, mode, outputs):
    """Run `plain`; a constant b (it has no batch axis) is broadcast and aligned beforehand."""
    a, b = inputs
    places_b = attributes["shift_b"]
    if b.ndim < a.ndim:
        b, places_b = np.broadcast_to(b << places_b, a.shape[1:]), 0
    plain(
        a.reshape(-1),
        np.ascontiguousarray(b).reshape(-1),
        attributes["shift_a"],
        places_b,
        mode,
        outputs[0].reshape(-1),
    )
