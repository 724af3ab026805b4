"""Conformance cases of the AdderNet and min-type products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Case, activation, constant
from tests.ops.geometries import geometries
from tests.ops.sum_cases import cancelling

# adder_matmul: matrix product with negated distances in place of products (AdderNet).
#
#     y[..., o] = -sum_k |x[..., k] - w[k, o]| + bias[o]
#
# Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Grids, ranges and
# sources: `mfsim/ops/distance/definition.py`. An output takes K subtractions, K magnitudes and K further additions
# with a bias; without, the last of them is a negation.


def cases_adder_matmul():
    rng = np.random.default_rng(6)
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    for exponent in (-4, -2, -1):
        x = activation("x", (2,), Format(4), Scale.of(exponent))
        bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(min(exponent, -2)))
        yield Case(f"x-on-{exponent}", (x, weights), exhaustive=True)
        yield Case(f"x-on-{exponent}-bias", (x, weights, bias), exhaustive=True)
        pair = activation("x", (1, 1), Format(5), Scale.of(exponent)), activation("w", (1, 1), Format(5), Scale.of(-3))
        yield Case(f"dynamic-x-on-{exponent}", pair, exhaustive=True)
        for lo, hi in ((-7, -6), (1, 2), (5, 7)):
            narrow = replace(pair[1], range=Range.of(lo, hi))
            other = replace(pair[0], range=Range.of(-2, 3))
            yield Case(f"dynamic-x-on-{exponent}-{lo}..{hi}", (other, narrow), exhaustive=True)
    yield cancelling(convolution=False)
    big = constant("w", rng.integers(-127, 128, (9, 5)), Format(8), Scale.of(-9))
    x = activation("x", (3, 9), Format(8), Scale.of(-7))
    yield Case("bytes", (x, big))
    yield Case("bytes-bias", (x, big, constant("b", rng.integers(-99, 99, 5), scale=Scale.of(-9))))
    ranged = replace(activation("x", (3,), Format(6, False)), range=Range((3, 0, 9), (60, 9, 9), 1))
    yield Case("ranges-by-feature", (ranged, constant("w", rng.integers(-31, 32, (3, 4)), scale=Scale.of(2))))
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic)
    wide = constant("w", np.array([[2**40 - 1], [-(2**40)]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (2,), Format(44), Scale.of(12)), wide))
    yield Case("word-of-63-bits", (activation("x", (3,), Format(61)), constant("w", np.array([[3], [0], [0]]))))
    past = constant("w", rng.integers(-127, 128, (300, 2)), Format(8), Scale.of(-12))
    yield Case("past-2**24", (activation("x", (300,), Format(16), Scale.of(-10)), past))


# adder_conv2d: two-dimensional convolution with negated distances in place of products (AdderNet).
#
#     y[o, r, s] = -sum_{c, i, j} |x[c, r*stride + i*dilation - pad, ...] - w[o, c, i, j]| + bias[o]
#
# The window is not mirrored. Padding is code 0 before the operator: a tap on it gives -|w|, so padding is
# not neutral here. Grids, ranges and sources: `mfsim/ops/distance/definition.py`. An output costs what one of
# `adder_matmul` of length C / groups * rows * columns costs; x is aligned once for each code.


def cases_adder_conv2d():
    return aligned_cases(8)


# min_matmul: matrix product with the signed minimum of magnitudes in place of products.
#
#     y[..., o] = sum_k sign(x[..., k]) sign(w[k, o]) min(|x[..., k]|, |w[k, o]|) + bias[o]
#
# Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Grids, ranges and
# sources: `mfsim/ops/distance/definition.py`. The sign of 0 does not matter. Magnitudes are made once for each
# code; a term takes the product of two signs (a conditional negation of 2 bits), a comparison and a
# selection, and an addition whose mode is that sign.


def cases_min_matmul():
    rng = np.random.default_rng(7)
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    for exponent in (-4, -2, -1):
        x = activation("x", (2,), Format(4), Scale.of(exponent))
        bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(min(exponent, -2)))
        yield Case(f"x-on-{exponent}", (x, weights), exhaustive=True)
        yield Case(f"x-on-{exponent}-bias", (x, weights, bias), exhaustive=True)
        pair = activation("x", (1, 1), Format(5), Scale.of(exponent)), activation("w", (1, 1), Format(5), Scale.of(-3))
        yield Case(f"dynamic-x-on-{exponent}", pair, exhaustive=True)
    for lo, hi in ((-7, -2), (1, 5), (-3, 9)):
        sided = replace(activation("w", (1, 2), Format(5)), range=Range.of(lo, hi))
        other = replace(activation("x", (2, 1), Format(5)), range=Range.of(2, 6))
        yield Case(f"dynamic-{lo}..{hi}", (other, sided), exhaustive=True)
    yield cancelling(convolution=False)
    big = constant("w", rng.integers(-127, 128, (9, 5)), Format(8), Scale.of(-9))
    x = activation("x", (3, 9), Format(8), Scale.of(-7))
    yield Case("bytes", (x, big))
    yield Case("bytes-bias", (x, big, constant("b", rng.integers(-99, 99, 5), scale=Scale.of(-9))))
    ranged = replace(activation("x", (3,), Format(6, False)), range=Range((3, 0, 9), (60, 9, 9), 1))
    yield Case("ranges-by-feature", (ranged, constant("w", rng.integers(-31, 32, (3, 4)), scale=Scale.of(2))))
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic)
    wide = constant("w", np.array([[2**54 - 1], [-(2**54)]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (2,), Format(50), Scale.of(12)), wide))
    past = constant("w", rng.integers(-(2**18), 2**18, (300, 2)), Format(19), Scale.of(-12))
    yield Case("past-2**24", (activation("x", (300,), Format(16), Scale.of(-10)), past))


# min_conv2d: two-dimensional convolution with the signed minimum of magnitudes in place of products.
#
#     y[o, r, s] = sum_{c, i, j} sign(x w) min(|x|, |w|) + bias[o],   x = x[c, r*stride + i*dilation - pad, ...]
#
# The window is not mirrored; padding is code 0, whose terms are 0. Grids, ranges and sources:
# `mfsim/ops/distance/definition.py`. An output costs what one of `min_matmul` of length C / groups * rows * columns
# costs; x is aligned and its magnitude taken once for each code.


def cases_min_conv2d():
    return aligned_cases(9)


def aligned_cases(seed: int) -> Iterator[Case]:
    """Yield cases of a convolution on one grid."""
    rng = np.random.default_rng(seed)
    weights = constant("w", np.array([[[[-3, 2]]], [[[0, -4]]]]), Format(3), Scale.of(-2))
    for exponent in (-4, -1):
        x = activation("x", (1, 1, 3), Format(4), Scale.of(exponent))
        bias = constant("b", np.array([-3, 5]), scale=Scale.of(min(exponent, -2)))
        yield Case(f"x-on-{exponent}", (x, weights), exhaustive=True)
        yield Case(f"x-on-{exponent}-pads-bias", (x, weights, bias), {"pads": (0, 1, 0, 1)}, exhaustive=True)
    positive = replace(activation("x", (1, 1, 3), Format(4)), range=Range.of(2, 5))
    one_sided = constant("w", np.array([[[[3, -2]]]]))
    yield Case("positive-pads", (positive, one_sided), {"pads": (0, 1, 0, 0)}, exhaustive=True)
    yield cancelling(convolution=True)
    for k, (name, x_shape, w_shape, attributes) in enumerate(geometries()):
        w = constant("w", rng.integers(-127, 128, w_shape), Format(8), Scale.of(-7 + k % 3 - 1))
        start = constant("b", rng.integers(-999, 999, w_shape[0]), scale=Scale.of(-7 + min(k % 3 - 1, 0)))
        inputs = (activation("x", x_shape, Format(8), Scale.of(-7)), w, start)
        yield Case(name, inputs[:2], attributes)
        yield Case(f"{name}-bias", inputs, attributes)
    unsigned = activation("x", (2, 3, 2), Format(6, False), Scale.of(-4))
    ranged = replace(unsigned, range=Range((3, 0), (60, 9), 1))
    w = constant("w", rng.integers(-7, 8, (3, 2, 2, 1)), Format(4), Scale.of(-3))
    yield Case("ranges-by-channel", (ranged, w), {})
    yield Case("ranges-by-channel-pads", (ranged, w), {"pads": (1, 1, 0, 0)})
    grouped = constant("w", rng.integers(-7, 8, (4, 1, 2, 2)), Format(4), Scale.of(-4))
    yield Case("ranges-by-channel-groups", (ranged, grouped), {"groups": 2})
    wide = constant("w", np.array([[[[2**40 - 1, -(2**40)]]]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (1, 2, 2), Format(44), Scale.of(12)), wide), {"pads": (0, 1, 1, 0)})
    many = constant("w", rng.integers(-(2**18), 2**18, (2, 16, 3, 3)), Format(19), Scale.of(-9))
    yield Case("past-2**24", (activation("x", (16, 3, 3), Format(19), Scale.of(-9)), many), {})
