"""Plain kernels of the products with power-of-two weights: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.arrays import as_matrices, starts
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, negate, shift_left
from mfsim.kernels.windows import gather, window_of

# Shared loops of the products with power-of-two weights: one sum of shifted terms.


def _places_and_signs(codes):
    """Return exponents (0 for the weight 0) and signs of constant weights: work done beforehand."""
    exponents = np.frexp(np.maximum(np.abs(codes), 1).astype(np.float64))[1].astype(np.int64)
    return exponents - 1, np.sign(codes)


@kernel
def _shift_sums(x, places, signs, bias, first, y):
    """Fill y with bias + sum sign * x * 2**places for x (1-D) and [outputs, length]; bias may be empty."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        shifted = shift_left(x[0], places[o, 0])
        total = addsub(bias[o], shifted, signs[o, 0]) if has_bias else negate(shifted, signs[o, 0])
        for k in range(1, x.size):
            total = addsub(total, shift_left(x[k], places[o, k]), signs[o, k])
        y[i] = total


# shift_matmul: matrix product with power-of-two weights. Definition: mfsim/ops/power_of_two/shift_matmul.py.


@kernel
def _plain_shift_matmul(x, places, signs, bias, y):
    """Take x [M, K], weights transposed [O, K] and y [M, O]."""
    for m in range(y.shape[0]):
        _shift_sums(x[m], places, signs, bias, 0, y[m])


def run_shift_matmul(inputs, attributes, outputs):
    """Fill the output of op `shift_matmul`: matrix products with power-of-two weights.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., K]; constant w [K, O]; perhaps a bias [O]; weights are 0 or powers of
        two with a sign.
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., O].
    """
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    _plain_shift_matmul(x[0], *_places_and_signs(w[0]), starts(inputs[2:]), y[0])


# shift_conv2d: two-dimensional convolution with power-of-two weights. Definition: mfsim/ops/power_of_two/shift_conv2d.py.


@kernel
def _plain_shift_conv2d(x, places, signs, bias, groups, window, patch, y):
    """Take x [N, C, H, W], weights [O, terms], y [N, O, H', W']; the patch holds one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    outputs = y[n, g * each : (g + 1) * each, row, column]
                    _shift_sums(patch, places, signs, bias, g * each, outputs)


def run_shift_conv2d(inputs, attributes, outputs):
    """Fill the output of op `shift_conv2d`: convolutions with power-of-two weights.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O];
        weights are 0 or powers of two with a sign.
    attributes : mapping
        Complete attributes: `strides`, `pads`, `dilations`, `groups`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, O, H', W'].
    """
    x, w = inputs[0], inputs[1]
    weights = _places_and_signs(w.reshape(w.shape[0], -1))
    patch = np.empty(weights[0].shape[1], dtype=x.dtype)
    window = window_of(w.shape[2:], attributes)
    _plain_shift_conv2d(x, *weights, starts(inputs[2:]), attributes["groups"], window, patch, outputs[0])
