"""mf_conv2d: two-dimensional convolution with the MF operator. Definition: mfsim/ops/mf_conv2d.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.mf import as_weights, prepared, prepared_constant, term_sums
from mfsim.kernels.windows import gather, window_of


@kernel
def plain(x, signs_x, weights, groups, window, zero, patch, patch_signs, y):
    """Take x [N, C, H, W], weights in one set, y [N, O, H', W']; the patches hold one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    gather(signs_x[n], g * channels, row, column, window, zero, patch_signs)
                    first = g * each
                    term_sums(patch, patch_signs, weights, 0, first, y[n, first : first + each, row, column])


def run(inputs, attributes, outputs):
    x, w = inputs[0], inputs[1]
    values_w, signs_w = prepared_constant(w.reshape(1, w.shape[0], -1), attributes)
    values, signs = prepared(x, attributes, "x")
    patch = np.empty((2, values_w.shape[2]), dtype=x.dtype)
    plain(
        values,
        signs,
        as_weights(values_w, signs_w, inputs[2:], attributes),
        attributes["groups"],
        window_of(w.shape[2:], attributes),
        attributes["sign_zero"],
        *patch,
        outputs[0],
    )
