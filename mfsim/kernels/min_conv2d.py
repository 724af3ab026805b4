"""min_conv2d: two-dimensional convolution with sign(x w) min(|x|, |w|). Definition: mfsim/ops/min_conv2d.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.aligned import constant_magnitudes_and_signs, magnitudes_and_signs, min_sums
from mfsim.kernels.jit import kernel
from mfsim.kernels.products import starts
from mfsim.kernels.windows import gather, window_of


@kernel
def plain(x, signs_x, w, signs_w, bias, groups, window, patch, patch_signs, y):
    """Take x [N, C, H, W], w [O, terms], y [N, O, H', W']; the patches hold one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    gather(signs_x[n], g * channels, row, column, window, 1, patch_signs)
                    outputs = y[n, g * each : (g + 1) * each, row, column]
                    min_sums(patch, patch_signs, w, signs_w, bias, g * each, outputs)


def run(inputs, attributes, outputs):
    x, w = inputs[0], inputs[1]
    weights = constant_magnitudes_and_signs(w.reshape(w.shape[0], -1), attributes["shift_w"])
    patches = np.empty((2, weights[0].shape[1]), dtype=x.dtype)
    operands = magnitudes_and_signs(x, attributes["shift_x"])
    window = window_of(w.shape[2:], attributes)
    plain(*operands, *weights, starts(inputs[2:]), attributes["groups"], window, *patches, outputs[0])
