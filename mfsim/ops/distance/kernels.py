"""Plain kernels of the AdderNet and min-type products: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.arrays import as_matrices, starts
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, host_mode, less, negate, select, shift_left
from mfsim.kernels.windows import gather, window_of

# Shared loops of the products on one grid: alignment of the operands, and one sum of terms of each kind.


@kernel
def _shifted(x, places, y):
    for i in range(x.size):
        y[i] = shift_left(x[i], places) if places > 0 else x[i]


def _aligned(codes, places):
    """Return the codes of a dynamic operand, shifted left."""
    y = np.empty_like(codes)
    _shifted(codes.reshape(-1), places, y.reshape(-1))
    return y


@kernel
def _split_signs(x, places, magnitudes, signs):
    for i in range(x.size):
        magnitudes[i] = absolute(shift_left(x[i], places) if places > 0 else x[i])
        signs[i] = host_mode(x[i])


def _magnitudes_and_signs(codes, places):
    """Return |code| << places and the sign bits, as -1 and +1, of a dynamic operand."""
    magnitudes, signs = np.empty_like(codes), np.empty_like(codes)
    _split_signs(codes.reshape(-1), places, magnitudes.reshape(-1), signs.reshape(-1))
    return magnitudes, signs


def _constant_magnitudes_and_signs(codes, places):
    """Return the same of constant weights: work done beforehand."""
    return np.abs(codes) << places, np.where(codes < 0, -1, 1)


@kernel
def _adder_sums(x, w, bias, first, y):
    """Fill y with bias - sum |x - w| for x (1-D) and w [outputs, length], outputs `first` onwards; bias may be empty."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        distance = absolute(addsub(x[0], w[o, 0], -1))
        total = addsub(bias[o], distance, -1) if has_bias else negate(distance, -1)
        for k in range(1, x.size):
            total = addsub(total, absolute(addsub(x[k], w[o, k], -1)), -1)
        y[i] = total


@kernel
def _least(x, w):
    """Return the lesser of two magnitudes."""
    return select(less(x, w), x, w)


@kernel
def _min_sums(x, signs_x, w, signs_w, bias, first, y):
    """Fill y with bias + sum of signed minima of magnitudes x (1-D) and w [outputs, length]; as `adder_sums`."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        mode = negate(signs_x[0], signs_w[o, 0])
        total = addsub(bias[o], _least(x[0], w[o, 0]), mode) if has_bias else negate(_least(x[0], w[o, 0]), mode)
        for k in range(1, x.size):
            mode = negate(signs_x[k], signs_w[o, k])
            total = addsub(total, _least(x[k], w[o, k]), mode)
        y[i] = total


# adder_matmul: matrix product with -|x - w|. Definition: mfsim/ops/distance/adder_matmul.py.


@kernel
def _plain_adder_matmul(x, w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            _adder_sums(x[g, m], w[g % w.shape[0]], bias, 0, y[g, m])


def run_adder_matmul(inputs, attributes, outputs):
    """Fill the output of op `adder_matmul`: AdderNet matrix products, sums of -abs(x - w).

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., K]; w, constant [K, O] or activation [batch, ..., K, O]; perhaps a
        bias [O], for constant w.
    attributes : mapping
        Complete attributes: `shift_x`, `shift_w`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., O].
    """
    constant = inputs[1].ndim == 2
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    aligned_w = w << attributes["shift_w"] if constant else _aligned(w, attributes["shift_w"])
    _plain_adder_matmul(_aligned(x, attributes["shift_x"]), aligned_w, starts(inputs[2:]), y)


# adder_conv2d: two-dimensional convolution with -|x - w|. Definition: mfsim/ops/distance/adder_conv2d.py.


@kernel
def _plain_adder_conv2d(x, w, bias, groups, window, patch, y):
    """Take x [N, C, H, W], w [O, terms], y [N, O, H', W']; the patch holds one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    _adder_sums(patch, w, bias, g * each, y[n, g * each : (g + 1) * each, row, column])


def run_adder_conv2d(inputs, attributes, outputs):
    """Fill the output of op `adder_conv2d`: AdderNet convolutions, sums of -abs(x - w).

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O].
    attributes : mapping
        Complete attributes: `shift_x`, `shift_w`, `strides`, `pads`, `dilations`, `groups`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, O, H', W'].
    """
    x, w = inputs[0], inputs[1]
    aligned_w = w.reshape(w.shape[0], -1) << attributes["shift_w"]
    patch = np.empty(aligned_w.shape[1], dtype=x.dtype)
    window = window_of(w.shape[2:], attributes)
    x = _aligned(x, attributes["shift_x"])
    _plain_adder_conv2d(x, aligned_w, starts(inputs[2:]), attributes["groups"], window, patch, outputs[0])


# min_matmul: matrix product with sign(x w) min(|x|, |w|). Definition: mfsim/ops/distance/min_matmul.py.


@kernel
def _plain_min_matmul(x, signs_x, w, signs_w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    sets = w.shape[0]
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            _min_sums(x[g, m], signs_x[g, m], w[g % sets], signs_w[g % sets], bias, 0, y[g, m])


def run_min_matmul(inputs, attributes, outputs):
    """Fill the output of op `min_matmul`: min-type matrix products, sums of sign(x w) min(abs(x), abs(w)).

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., K]; w, constant [K, O] or activation [batch, ..., K, O]; perhaps a
        bias [O], for constant w.
    attributes : mapping
        Complete attributes: `shift_x`, `shift_w`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., O].
    """
    prepare_w = _constant_magnitudes_and_signs if inputs[1].ndim == 2 else _magnitudes_and_signs
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    magnitudes_w, signs_w = prepare_w(w, attributes["shift_w"])
    magnitudes_x, signs_x = _magnitudes_and_signs(x, attributes["shift_x"])
    _plain_min_matmul(magnitudes_x, signs_x, magnitudes_w, signs_w, starts(inputs[2:]), y)


# min_conv2d: two-dimensional convolution with sign(x w) min(|x|, |w|). Definition: mfsim/ops/distance/min_conv2d.py.


@kernel
def _plain_min_conv2d(x, signs_x, w, signs_w, bias, groups, window, patch, patch_signs, y):
    """Take x [N, C, H, W], w [O, terms], y [N, O, H', W']; the patches hold one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    gather(signs_x[n], g * channels, row, column, window, 1, patch_signs)
                    outputs = y[n, g * each : (g + 1) * each, row, column]
                    _min_sums(patch, patch_signs, w, signs_w, bias, g * each, outputs)


def run_min_conv2d(inputs, attributes, outputs):
    """Fill the output of op `min_conv2d`: min-type convolutions, sums of sign(x w) min(abs(x), abs(w)).

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O].
    attributes : mapping
        Complete attributes: `shift_x`, `shift_w`, `strides`, `pads`, `dilations`, `groups`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, O, H', W'].
    """
    x, w = inputs[0], inputs[1]
    magnitudes_w, signs_w = _constant_magnitudes_and_signs(w.reshape(w.shape[0], -1), attributes["shift_w"])
    patches = np.empty((2, magnitudes_w.shape[1]), dtype=x.dtype)
    magnitudes_x, signs_x = _magnitudes_and_signs(x, attributes["shift_x"])
    weights = magnitudes_w, signs_w, starts(inputs[2:])
    window = window_of(w.shape[2:], attributes)
    _plain_min_conv2d(magnitudes_x, signs_x, *weights, attributes["groups"], window, *patches, outputs[0])
