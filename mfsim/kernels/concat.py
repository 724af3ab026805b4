"""concat: inputs behind each other along an axis. Definition: mfsim/ops/concat.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import shift_left


@kernel
def plain(x, places, start, y):
    """Put x of shape (outer, width), shifted left, into y of shape (outer, total) from `start` on."""
    for outer in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[outer, start + i] = shift_left(x[outer, i], places)


def run(inputs, attributes, outputs):
    axis, y = attributes["axis"], outputs[0]
    outer = int(np.prod(y.shape[:axis], dtype=np.int64))
    rows, start = y.reshape(outer, int(np.prod(y.shape[axis:], dtype=np.int64))), 0
    for x, places in zip(inputs, attributes["shifts"], strict=True):
        width = int(np.prod(x.shape[axis:], dtype=np.int64))
        if places > 0:
            plain(x.reshape(outer, width), places, start, rows)
        else:
            rows[:, start : start + width] = x.reshape(outer, width)
        start += width
