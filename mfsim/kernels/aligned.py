"""Shared loops of the products on one grid: alignment of the operands, and one sum of terms of each kind."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, host_by_sign, less, negate, select, shift_left


@kernel
def _shifted(x, places, y):
    for i in range(x.size):
        y[i] = shift_left(x[i], places) if places > 0 else x[i]


def aligned(codes, places):
    """Return the codes of a dynamic operand, shifted left."""
    y = np.empty_like(codes)
    _shifted(codes.reshape(-1), places, y.reshape(-1))
    return y


@kernel
def _split(x, places, magnitudes, signs):
    for i in range(x.size):
        magnitudes[i] = absolute(shift_left(x[i], places) if places > 0 else x[i])
        signs[i] = host_by_sign(x[i], -1, 1)


def magnitudes_and_signs(codes, places):
    """Return |code| << places and the sign bits, as -1 and +1, of a dynamic operand."""
    magnitudes, signs = np.empty_like(codes), np.empty_like(codes)
    _split(codes.reshape(-1), places, magnitudes.reshape(-1), signs.reshape(-1))
    return magnitudes, signs


def constant_magnitudes_and_signs(codes, places):
    """Return the same of constant weights: work done beforehand."""
    return np.abs(codes) << places, np.where(codes < 0, -1, 1)


@kernel
def adder_sums(x, w, bias, first, y):
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
def least(x, w):
    """Return the lesser of two magnitudes."""
    return select(less(x, w), x, w)


@kernel
def min_sums(x, signs_x, w, signs_w, bias, first, y):
    """Fill y with bias + sum of signed minima of magnitudes x (1-D) and w [outputs, length]; as `adder_sums`."""
    has_bias = bias.size > 0
    for i in range(y.size):
        o = first + i
        mode = negate(signs_x[0], signs_w[o, 0])
        total = addsub(bias[o], least(x[0], w[o, 0]), mode) if has_bias else negate(least(x[0], w[o, 0]), mode)
        for k in range(1, x.size):
            mode = negate(signs_x[k], signs_w[o, k])
            total = addsub(total, least(x[k], w[o, k]), mode)
        y[i] = total
