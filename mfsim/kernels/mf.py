"""Shared loops of the MF products: operand preparation and one sum of terms."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, negate, shift_left, sign


@kernel
def prepare(x, zero, magnitude, places, signs, operands):
    """Fill `signs` and `operands` (x or |x|, shifted left by `places`) for flat x."""
    for i in range(x.size):
        signs[i] = sign(x[i], zero)
        code = absolute(x[i]) if magnitude else x[i]
        operands[i] = shift_left(code, places) if places > 0 else code


def prepare_constant(w, zero, magnitude, places):
    """Return (signs, operands) of constant codes: work done beforehand."""
    w = np.asarray(w, dtype=np.int64)
    return np.sign(w) + zero * (w == 0), (np.abs(w) if magnitude else w) << places


@kernel
def split_sum(x, signs_x, w, signs_w, bias, has_bias, shift_x, shift_w):
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
    if shift_x > 0:
        acc_x = shift_left(acc_x, shift_x)
    if shift_w > 0:
        acc_w = shift_left(acc_w, shift_w)
    return addsub(acc_x, acc_w, 1)


@kernel
def joint_sum(x, signs_x, w, signs_w, bias, has_bias):
    """Return the sum of the terms of x and w (1-D) in one accumulator."""
    acc = addsub(bias, x[0], signs_w[0]) if has_bias else negate(x[0], signs_w[0])
    acc = addsub(acc, w[0], signs_x[0])
    for k in range(1, x.size):
        acc = addsub(acc, x[k], signs_w[k])
        acc = addsub(acc, w[k], signs_x[k])
    return acc
