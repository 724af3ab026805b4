"""adder_conv2d: two-dimensional convolution with -|x - w|. Definition: mfsim/ops/adder_conv2d.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.aligned import adder_sums, aligned
from mfsim.kernels.jit import kernel
from mfsim.kernels.products import starts
from mfsim.kernels.windows import gather, window_of


@kernel
def plain(x, w, bias, groups, window, patch, y):
    """Take x [N, C, H, W], w [O, terms], y [N, O, H', W']; the patch holds one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    adder_sums(patch, w, bias, g * each, y[n, g * each : (g + 1) * each, row, column])


def run(inputs, attributes, outputs):
    x, w = inputs[0], inputs[1]
    flat = w.reshape(w.shape[0], -1) << attributes["shift_w"]
    patch = np.empty(flat.shape[1], dtype=x.dtype)
    window = window_of(w.shape[2:], attributes)
    x = aligned(x, attributes["shift_x"])
    plain(x, flat, starts(inputs[2:]), attributes["groups"], window, patch, outputs[0])
