"""Plain kernels of the dense products: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.arrays import as_matrices, starts
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, mul
from mfsim.kernels.windows import gather, window_of

# Shared loops of the dense products: sums of products.


@kernel
def _product_sums(x, w, bias, first, y):
    """Fill y with bias + sum x * w for x (1-D) and w [outputs, length], outputs `first` onwards; bias may be empty."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        total = mul(x[0], w[o, 0])
        if has_bias:
            total = addsub(bias[o], total, 1)
        for k in range(1, x.size):
            total = addsub(total, mul(x[k], w[o, k]), 1)
        y[i] = total


# matmul: dense matrix product. Definition: mfsim/ops/dense/matmul.py.


@kernel
def _plain_matmul(x, w, bias, y):
    """Take x [G, M, K], w transposed [G or 1, O, K] and y [G, M, O]."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            _product_sums(x[g, m], w[g % w.shape[0]], bias, 0, y[g, m])


@kernel
def _lower(x, w, bias, y):
    """Take operands as `plain` does, w [1, O, O] with zeros in front of its diagonal, where nothing is computed."""
    for g in range(y.shape[0]):
        for m in range(y.shape[1]):
            for o in range(y.shape[2]):
                _product_sums(x[g, m, o:], w[0, o : o + 1, o:], bias[o : o + 1], 0, y[g, m, o : o + 1])


def run_matmul(inputs, attributes, outputs):
    """Fill the output of op `matmul`: matrix products.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., K]; w, constant [K, O] or activation [batch, ..., K, O]; perhaps a
        bias [O], for constant w.
    attributes : mapping
        Complete attributes: `constant`, `triangle`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., O].
    """
    x, w, y = as_matrices(inputs[0], inputs[1], outputs[0])
    sums = _lower if attributes["triangle"] == "lower" else _plain_matmul
    sums(x, w, starts(inputs[2:]), y)


# conv2d: dense two-dimensional convolution. Definition: mfsim/ops/dense/conv2d.py.


@kernel
def _plain_conv2d(x, w, bias, groups, window, patch, y):
    """Take x [N, C, H, W], w [O, terms], y [N, O, H', W']; the patch holds one window of one group."""
    each, channels = y.shape[1] // groups, x.shape[1] // groups
    for n in range(y.shape[0]):
        for row in range(y.shape[2]):
            for column in range(y.shape[3]):
                for g in range(groups):
                    gather(x[n], g * channels, row, column, window, 0, patch)
                    _product_sums(patch, w, bias, g * each, y[n, g * each : (g + 1) * each, row, column])


def run_conv2d(inputs, attributes, outputs):
    """Fill the output of op `conv2d`: convolutions.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O].
    attributes : mapping
        Complete attributes: `strides`, `pads`, `dilations`, `groups`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, O, H', W'].
    """
    x, w = inputs[0], inputs[1]
    flat = np.array(w.reshape(w.shape[0], -1))
    patch = np.empty(flat.shape[1], dtype=x.dtype)
    _plain_conv2d(
        x, flat, starts(inputs[2:]), attributes["groups"], window_of(w.shape[2:], attributes), patch, outputs[0]
    )


# gram: products of rows with each other, one triangle computed. Definition: mfsim/ops/dense/gram.py.


@kernel
def _plain_gram(x, y):
    """Take x [G, N, K] and y [G, N, N]."""
    for g in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(i + 1):
                total = mul(x[g, i, 0], x[g, j, 0])
                for k in range(1, x.shape[2]):
                    total = addsub(total, mul(x[g, i, k], x[g, j, k]), 1)
                y[g, i, j] = total
                y[g, j, i] = total


def run_gram(inputs, attributes, outputs):
    """Fill the output of op `gram`: products of all rows with each other.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N, K].
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, ..., N, N], symmetric.
    """
    (x,) = inputs
    _plain_gram(x.reshape(-1, *x.shape[-2:]), outputs[0].reshape(-1, x.shape[-2], x.shape[-2]))
