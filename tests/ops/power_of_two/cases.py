"""Conformance cases of the products with power-of-two weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Case, activation, constant
from mfsim.ops.power_of_two.shift_matmul import powers
from tests.ops.geometries import geometries
from tests.ops.sum_cases import cancelling

# shift_matmul: matrix product with weights that are powers of two.
#
#     y[..., o] = sum_k x[..., k] * w[k, o] + bias[o],   w[k, o] in {0, +2**j, -2**j}
#
# Weights are a constant [K, O]. The result and the bias lie on the grid scale(x) * scale(w[o]). An output
# takes K shifts and K additions with a bias; without, the first of the additions is a negation. Weights,
# words and sources: `mfsim/ops/power_of_two/definition.py`.


def cases_shift_matmul():
    rng = np.random.default_rng(10)
    x = activation("x", (2,), Format(5), Scale.of(-4))
    weights = constant("w", np.array([[-4, 0, 2], [1, -8, 1]]), Format(4), Scale.of(-2))
    bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), exhaustive=True)
    yield Case("exhaustive-bias", (x, weights, bias), exhaustive=True)
    yield Case("zeros", (x, constant("w", np.zeros((2, 1), dtype=int))), exhaustive=True)
    sided = replace(activation("x", (2,), Format(5)), range=Range((3, -9), (7, -2), 1))
    yield Case("exhaustive-ranges", (sided, weights), exhaustive=True)
    yield cancelling(convolution=False)
    big = constant("w", powers(rng, 6, (9, 5)), Format(8), Scale((-7, -8, -7, -6, -9), 1))
    start = constant("b", rng.integers(-9999, 9999, 5), scale=Scale((-14, -15, -14, -13, -16), 0))
    yield Case("per-channel", (activation("x", (3, 9), Format(8), Scale.of(-7)), big))
    yield Case("per-channel-bias", (activation("x", (9,), Format(8, False), Scale.of(-7)), big, start))
    yield Case("past-2**24", (activation("x", (300,), Format(12)), constant("w", powers(rng, 7, (300, 2)))))
    yield Case("past-2**53", (activation("x", (2,), Format(40)), constant("w", np.array([[2**20], [-(2**19)]]))))
    longest = constant("w", np.array([[16], [0], [0], [-16]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(58)), longest))


# shift_conv2d: two-dimensional convolution with weights that are powers of two.
#
#     y[o, r, s] = sum_{c, i, j} x[c, r*stride + i*dilation - pad, ...] * w[o, c, i, j] + bias[o]
#
# The window is not mirrored; padding is code 0, whose terms are executed like all others. An output costs what
# one of `shift_matmul` of length C / groups * rows * columns costs. Weights, words and sources:
# `mfsim/ops/power_of_two/definition.py`.


def cases_shift_conv2d():
    rng = np.random.default_rng(11)
    x = activation("x", (1, 1, 3), Format(4), Scale.of(-4))
    weights = constant("w", np.array([[[[-4, 2]]], [[[0, -1]]]]), Format(4), Scale.of(-2))
    bias = constant("b", np.array([-3, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), {}, exhaustive=True)
    yield Case("exhaustive-pads-bias", (x, weights, bias), {"pads": (0, 1, 0, 1)}, exhaustive=True)
    yield cancelling(convolution=True)
    for name, x_shape, w_shape, attributes in geometries():
        w = constant("w", powers(rng, 6, w_shape), Format(8), Scale.of(-7))
        start = constant("b", rng.integers(-999, 999, w_shape[0]), scale=Scale.of(-14))
        inputs = (activation("x", x_shape, Format(8), Scale.of(-7)), w, start)
        yield Case(name, inputs[:2], attributes)
        yield Case(f"{name}-bias", inputs, attributes)
    w = constant("w", powers(rng, 3, (3, 2, 2, 1)), Format(5), Scale((-6, -3, -4), 0))
    start = constant("b", np.array([9, -9, 1]), scale=Scale((-10, -7, -8), 0))
    ranged = replace(activation("x", (2, 3, 2), Format(6, False), Scale.of(-4)), range=Range((3, 0), (60, 9), 1))
    yield Case("per-channel", (ranged, w, start), {})
    yield Case("per-channel-pads", (ranged, w), {"pads": (1, 0, 0, 0)})
    many = constant("w", powers(rng, 6, (2, 16, 3, 3)), Format(8))
    yield Case("past-2**24", (activation("x", (16, 3, 3), Format(16)), many), {})
    wide = constant("w", np.array([[[[2**20, -(2**18)]]]]))
    yield Case("past-2**53", (activation("x", (1, 2, 2), Format(40)), wide), {"pads": (0, 1, 1, 0)})
