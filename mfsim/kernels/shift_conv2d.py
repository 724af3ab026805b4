"""shift_conv2d: two-dimensional convolution with power-of-two weights. Definition: mfsim/ops/shift_conv2d.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.power_weights import places_and_signs, shift_sums
from mfsim.kernels.products import starts
from mfsim.kernels.windows import gather, window_of


@kernel
def plain(x, places, signs, bias, groups, window, patch, y):
    """Take x [N, C, H, W], weights [O, terms], y [N, O, H', W']; the patch holds one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    outputs = y[n, g * each : (g + 1) * each, row, column]
                    shift_sums(patch, places, signs, bias, g * each, outputs)


def run(inputs, attributes, outputs):
    x, w = inputs[0], inputs[1]
    weights = places_and_signs(w.reshape(w.shape[0], -1))
    patch = np.empty(weights[0].shape[1], dtype=x.dtype)
    window = window_of(w.shape[2:], attributes)
    plain(x, *weights, starts(inputs[2:]), attributes["groups"], window, patch, outputs[0])
