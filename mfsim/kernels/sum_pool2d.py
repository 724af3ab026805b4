"""sum_pool2d: sum of each window. Definition: mfsim/ops/sum_pool2d.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub
from mfsim.kernels.windows import gather, window_of


@kernel
def plain(x, window, patch, y):
    """Take x [planes, H, W], y [planes, H', W']; the patch holds one window."""
    for p in range(y.shape[0]):
        for row in range(y.shape[1]):
            for column in range(y.shape[2]):
                gather(x, p, row, column, window, 0, patch)
                total = patch[0]
                for k in range(1, patch.size):
                    total = addsub(total, patch[k], 1)
                y[p, row, column] = total


def run(inputs, attributes, outputs):
    x, y = inputs[0], outputs[0]
    planes = x.shape[0] * x.shape[1]
    window = window_of(attributes["kernel"], attributes)
    patch = np.empty(window[0] * window[1], dtype=x.dtype)
    plain(x.reshape(planes, *x.shape[2:]), window, patch, y.reshape(planes, *y.shape[2:]))
