"""Plain kernels of the multiplication-free products: int64 codes through counted primitives only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfsim.kernels.arrays import as_matrices, starts
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, negate, shift_left, sign
from mfsim.kernels.windows import gather, window_of

# Shared loops of the MF products: preparation of the operands, and one sum of terms.


class Weights(NamedTuple):
    """What a sum needs besides x: `values` and `signs` [sets, outputs, length], the rest per output.

    `bias` is empty where nothing starts the sums. `split` tells two accumulators from one.
    """

    values: np.ndarray
    signs: np.ndarray
    bias: np.ndarray
    shift_x: np.ndarray
    shift_w: np.ndarray
    split: bool


@kernel
def _prepare(x, zero, magnitude, places, signs, values):
    """Fill `signs` and `values` (x or |x|, shifted left by `places`) for flat x."""
    for i in range(x.size):
        signs[i] = sign(x[i], zero)
        code = absolute(x[i]) if magnitude else x[i]
        values[i] = shift_left(code, places) if places > 0 else code


def _prepared_operand(codes, attributes, which):
    """Return (values, signs) of the dynamic operand `which`, "x" or "w"."""
    signs, values = np.empty_like(codes), np.empty_like(codes)
    magnitude, places = _form(attributes, which)
    _prepare(codes.reshape(-1), attributes["sign_zero"], magnitude, places, signs.reshape(-1), values.reshape(-1))
    return values, signs


def _prepared_constant(codes, attributes):
    """Return (values, signs) of constant weights: work done beforehand."""
    magnitude, places = _form(attributes, "w")
    signs = np.sign(codes) + attributes["sign_zero"] * (codes == 0)
    return (np.abs(codes) if magnitude else codes) << places, signs


def _form(attributes, which):
    places = attributes[f"shift_{which}"][0] if attributes["grid"] == "aligned" else 0
    return attributes["form"] == "abs", places


def _as_weights(values, signs, bias, attributes):
    """Return the `Weights` of prepared `values` and `signs`; `bias` is a list of 0 or 1 arrays."""
    shift_x, shift_w = (
        np.array(np.broadcast_to(np.array(attributes[name], dtype=np.int64), values.shape[1:2]))
        for name in ("shift_x", "shift_w")
    )
    return Weights(values, signs, starts(bias), shift_x, shift_w, attributes["grid"] == "split")


@kernel
def _term_sums(x, signs_x, weights, at, first, y):
    """Fill y with the sums of the terms of x (1-D) and the weights of outputs `first` onwards of set `at`."""
    values, signs, bias, split = weights.values, weights.signs, weights.bias, weights.split
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        start = bias[o] if has_bias else 0
        if split:
            shift_x, shift_w = weights.shift_x[o], weights.shift_w[o]
            y[i] = _split_sum(x, signs_x, values[at, o], signs[at, o], start, has_bias, shift_x, shift_w)
        else:
            y[i] = _joint_sum(x, signs_x, values[at, o], signs[at, o], start, has_bias)


@kernel
def _split_sum(x, signs_x, w, signs_w, bias, has_bias, shift_x, shift_w):
    """Return the sum of the terms of x and w (1-D) with two accumulators joined at the end."""
    if has_bias and shift_x == 0:
        acc_x = addsub(bias, x[0], signs_w[0])
    else:
        acc_x = negate(x[0], signs_w[0])
    if has_bias and shift_x > 0:
        acc_w = addsub(bias, w[0], signs_x[0])
    else:
        acc_w = negate(w[0], signs_x[0])
    for k in range(1, x.size):
        acc_x = addsub(acc_x, x[k], signs_w[k])
        acc_w = addsub(acc_w, w[k], signs_x[k])
    return _joined(acc_x, acc_w, shift_x, shift_w)


@kernel
def _joined(acc_x, acc_w, shift_x, shift_w):
    """Return the sum of two accumulators on the finer of their grids."""
    if shift_x > 0:
        acc_x = shift_left(acc_x, shift_x)
    if shift_w > 0:
        acc_w = shift_left(acc_w, shift_w)
    return addsub(acc_x, acc_w, 1)


@kernel
def _joint_sum(x, signs_x, w, signs_w, bias, has_bias):
    """Return the sum of the terms of x and w (1-D) in one accumulator."""
    acc = addsub(bias, x[0], signs_w[0]) if has_bias else negate(x[0], signs_w[0])
    acc = addsub(acc, w[0], signs_x[0])
    for k in range(1, x.size):
        acc = addsub(acc, x[k], signs_w[k])
        acc = addsub(acc, w[k], signs_x[k])
    return acc


# mf_matmul: matrix product with the MF operator. Definition: mfsim/ops/mf/mf_matmul.py.


@kernel
def _plain_mf_matmul(x, signs_x, weights, y):
    """Take x [G, M, K] and y [G, M, O]; weights in one set for all G, or in G sets."""
    sets = weights.values.shape[0]
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            _term_sums(x[g, m], signs_x[g, m], weights, g % sets, 0, y[g, m])


def run_mf_matmul(inputs, attributes, outputs):
    """Fill the output of op `mf_matmul`: multiplication-free matrix products.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., K]; w, constant [K, O] or activation [batch, ..., K, O]; perhaps a
        bias [O], for constant w.
    attributes : mapping
        Complete attributes: `form`, `sign_zero`, `grid`, `shift_x`, `shift_w`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., O].
    """
    constant = inputs[1].ndim == 2
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    values, signs = _prepared_constant(w, attributes) if constant else _prepared_operand(w, attributes, "w")
    _plain_mf_matmul(*_prepared_operand(x, attributes, "x"), _as_weights(values, signs, inputs[2:], attributes), y)


# mf_conv2d: two-dimensional convolution with the MF operator. Definition: mfsim/ops/mf/mf_conv2d.py.


@kernel
def _plain_mf_conv2d(x, signs_x, weights, groups, window, zero, patch, patch_signs, y):
    """Take x [N, C, H, W], weights in one set, y [N, O, H', W']; the patches hold one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    gather(signs_x[n], g * channels, row, column, window, zero, patch_signs)
                    first = g * each
                    _term_sums(patch, patch_signs, weights, 0, first, y[n, first : first + each, row, column])


def run_mf_conv2d(inputs, attributes, outputs):
    """Fill the output of op `mf_conv2d`: multiplication-free convolutions.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O].
    attributes : mapping
        Complete attributes: `form`, `sign_zero`, `grid`, `shift_x`, `shift_w`, `strides`, `pads`, `dilations`,
        `groups`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, O, H', W'].
    """
    x, w = inputs[0], inputs[1]
    values_w, signs_w = _prepared_constant(w.reshape(1, w.shape[0], -1), attributes)
    values, signs = _prepared_operand(x, attributes, "x")
    patch = np.empty((2, values_w.shape[2]), dtype=x.dtype)
    _plain_mf_conv2d(
        values,
        signs,
        _as_weights(values_w, signs_w, inputs[2:], attributes),
        attributes["groups"],
        window_of(w.shape[2:], attributes),
        attributes["sign_zero"],
        *patch,
        outputs[0],
    )


# mf_mul: element-wise MF product. Definition: mfsim/ops/mf/mf_mul.py.


@kernel
def _plain_mf_mul(x, signs_x, w, signs_w, split, shift_x, shift_w, y):
    """Take x and y [N, S]; w [N, S], or [1, S] for constant weights."""
    for n in range(y.shape[0]):
        m = n % w.shape[0]
        for i in range(y.shape[1]):
            part_x = negate(x[n, i], signs_w[m, i])
            if split:
                part_w = negate(w[m, i], signs_x[n, i])
                y[n, i] = _joined(part_x, part_w, shift_x, shift_w)
            else:
                y[n, i] = addsub(part_x, w[m, i], signs_x[n, i])


def run_mf_mul(inputs, attributes, outputs):
    """Fill the output of op `mf_mul`: multiplication-free element-wise products.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...]; w of the shape of x, or a constant that broadcasts to a sample of x.
    attributes : mapping
        Complete attributes: `form`, `sign_zero`, `grid`, `shift_x`, `shift_w`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    (x, w), y = inputs, outputs[0]
    flat = (y.shape[0], int(np.prod(y.shape[1:], dtype=np.int64)))
    if w.ndim == x.ndim:
        weights = [a.reshape(flat) for a in _prepared_operand(w, attributes, "w")]
    else:
        spread = np.array(np.broadcast_to(w, x.shape[1:])).reshape(1, flat[1])
        weights = _prepared_constant(spread, attributes)
    operands = [a.reshape(flat) for a in _prepared_operand(x, attributes, "x")]
    split = attributes["grid"] == "split"
    _plain_mf_mul(*operands, *weights, split, attributes["shift_x"][0], attributes["shift_w"][0], y.reshape(flat))
