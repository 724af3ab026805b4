"""Conformance cases of the dense products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Case, activation, constant
from tests.ops.geometries import geometries
from tests.ops.sum_cases import cancelling

# matmul: matrix product with multiplications, the baseline of `mf_matmul`.
#
#     y[..., o] = sum_k x[..., k] * w[k, o] + bias[o]
#
# Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). The result and
# the bias lie on the grid scale(x) * scale(w[o]). An output takes K multiplications, by
# constants or by activations, and K additions with a bias, K - 1 without. `constant` says what constant
# weights are: learned, or fixed by the architecture (a cosine transform, say); they are counted so.
#
# Constant weights [K, K] that are 0 above the diagonal are a triangle: output o is a sum over k >= o of K - o
# products, and nothing is computed for the entries above. Other zeros among weights are multiplied.


def cases_matmul():
    rng = np.random.default_rng(3)
    x = activation("x", (2,), Format(5), Scale.of(-4))
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), exhaustive=True)
    yield Case("exhaustive-bias", (x, weights, bias), exhaustive=True)
    pair = (activation("x", (1, 2), Format(3)), activation("w", (2, 1), Format(3, False), Scale.of(-3)))
    yield Case("exhaustive-dynamic", pair, exhaustive=True)
    inner = replace(pair[1], range=Range((1, 5), (2, 7), 1))
    yield Case("exhaustive-dynamic-ranges", (replace(pair[0], range=Range((-4, 1), (3, 2), 2)), inner), exhaustive=True)
    still = replace(activation("x", (2, 1, 2), Format(2)), range=Range((1, -1), (1, -1), 3))
    other = replace(activation("w", (2, 2, 1), Format(4)), range=Range((-2, 3), (-1, 4), 1))
    yield Case("exhaustive-dynamic-ranges-by-matrix", (still, other), exhaustive=True)
    yield cancelling(convolution=False)
    big = constant("w", rng.integers(-128, 128, (9, 5)), Format(8), Scale((-7, -8, -7, -6, -9), 1))
    start = constant("b", rng.integers(-9999, 9999, 5), scale=Scale((-14, -15, -14, -13, -16), 0))
    yield Case("per-channel", (activation("x", (3, 9), Format(8), Scale.of(-7)), big))
    yield Case("per-channel-bias", (activation("x", (9,), Format(8, False), Scale.of(-7)), big, start))
    below = constant("w", np.array([[3, 0, 0], [-2, 0, 0], [1, -4, 2]]), Format(3), Scale.of(-2))
    yield Case("exhaustive-triangle", (activation("x", (3,), Format(4), Scale.of(-4)), below), exhaustive=True)
    yield Case("triangle-bias", (activation("x", (2, 3), Format(5), Scale.of(-4)), below, bias))
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic)
    outer = replace(activation("w", (4, 2), Format(8)), range=Range((-9, 1), (-2, 100), 2))
    yield Case("dynamic-ranges-by-output", (activation("x", (3, 4), Format(8)), outer))
    yield Case("past-2**24", (activation("x", (300,), Format(12)), constant("w", rng.integers(-127, 128, (300, 2)))))
    yield Case("past-2**53", (activation("x", (2,), Format(40)), constant("w", np.array([[2**20 - 1], [-(2**20)]]))))
    longest = constant("w", np.array([[16], [0], [0], [-16]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(58)), longest))
    yield Case("past-2**53-dynamic", (activation("x", (1, 3), Format(30)), activation("w", (3, 1), Format(30))))


# conv2d: two-dimensional convolution with multiplications, the baseline of `mf_conv2d`.
#
#     y[o, r, s] = sum_{c, i, j} x[c, r*stride + i*dilation - pad, ...] * w[o, c, i, j] + bias[o]
#
# The result and the bias lie on the grid scale(x) * scale(w[o]). Padding is code 0, and its products
# are executed like all others.


def cases_conv2d():
    rng = np.random.default_rng(2)
    x = activation("x", (1, 1, 3), Format(4), Scale.of(-4))
    weights = constant("w", np.array([[[[-3, 2]]], [[[0, -4]]]]), Format(3), Scale.of(-2))
    bias = constant("b", np.array([-3, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), {}, exhaustive=True)
    yield Case("exhaustive-pads-bias", (x, weights, bias), {"pads": (0, 1, 0, 1)}, exhaustive=True)
    yield cancelling(convolution=True)
    for name, x_shape, w_shape, attributes in geometries():
        w = constant("w", rng.integers(-128, 128, w_shape), Format(8), Scale.of(-7))
        start = constant("b", rng.integers(-999, 999, w_shape[0]), scale=Scale.of(-14))
        inputs = (activation("x", x_shape, Format(8), Scale.of(-7)), w, start)
        yield Case(name, inputs[:2], attributes)
        yield Case(f"{name}-bias", inputs, attributes)
    w = constant("w", rng.integers(-7, 8, (3, 2, 2, 1)), Format(4), Scale((-6, -3, -4), 0))
    start = constant("b", np.array([9, -9, 1]), scale=Scale((-10, -7, -8), 0))
    ranged = replace(activation("x", (2, 3, 2), Format(6, False), Scale.of(-4)), range=Range((3, 0), (60, 9), 1))
    yield Case("per-channel", (ranged, w, start), {})
    yield Case("per-channel-pads", (ranged, w), {"pads": (1, 0, 0, 0)})
    many = constant("w", rng.integers(-127, 128, (2, 16, 3, 3)), Format(8))
    yield Case("past-2**24", (activation("x", (16, 3, 3), Format(16)), many), {})
    wide = constant("w", np.array([[[[2**20 - 1, -(2**20)]]]]))
    yield Case("past-2**53", (activation("x", (1, 2, 2), Format(40)), wide), {"pads": (0, 1, 1, 0)})


# gram: products of the rows of a matrix with each other, y = x x^T; one triangle is computed, the other is copied.
#
#     y[..., i, j] = y[..., j, i] = sum_k x[..., i, k] x[..., j, k],    j <= i
#
# x is [batch, ..., N, K]: N (N + 1) / 2 sums of K products of activations, where a matrix product has N**2. The
# result lies on the square of x's scale. It serves attention scores whose queries and keys are one tensor:
# "Reducing the Transformer Architecture to a Minimum" (arXiv 2410.13732), symmetric similarity.


def cases_gram():
    yield Case("exhaustive", (activation("x", (2, 2), Format(3), Scale.of(-2)),), exhaustive=True)
    yield Case("exhaustive-one-row", (activation("x", (1, 2), Format(4)),), exhaustive=True)
    positive = replace(activation("x", (2, 1), Format(5)), range=Range.of(3, 12))
    yield Case("exhaustive-positive", (positive,), exhaustive=True)
    ranged = replace(activation("x", (2, 2), Format(4)), range=Range((-3, 2), (1, 7), 2))
    yield Case("exhaustive-ranges", (ranged,), exhaustive=True)
    yield Case("heads", (activation("x", (2, 5, 4), Format(8), Scale.of(-7)),))
    yield Case("unsigned", (activation("x", (7, 3), Format(8, False), Scale.of(2)),))
    by_row = replace(activation("x", (3, 2), Format(8)), range=Range((-9, 1, -128), (-2, 100, 127), 1))
    yield Case("ranges-by-row", (by_row,))
    yield Case("past-2**24", (activation("x", (3, 40), Format(12)),))
    yield Case("past-2**53", (activation("x", (2, 3), Format(30)),))
