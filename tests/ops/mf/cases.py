"""Conformance cases of the multiplication-free products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Case, activation, constant
from mfsim.ops.products import FORMS, GRIDS
from tests.ops.geometries import geometries
from tests.ops.sum_cases import cancelling

# mf_matmul: matrix product with the MF operator in place of the multiplication.
#
#     y[..., o] = sum_k term(x[..., k], w[k, o]) + bias[o]
#
# Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Terms, forms
# and grids: `mfsim/ops/products.py`. With a bias an output on split grids takes 2K additions, 1
# negation and 1 shift; without, 2K - 1, 2 and 1.


def cases_mf_matmul():
    rng = np.random.default_rng(0)
    weights = constant("w", np.array([[-3, 0, 2], [1, -4, 3]]), Format(3), Scale.of(-2))
    x = activation("x", (2,), Format(4), Scale.of(-4))
    for form in FORMS:
        for zero in (0, 1):
            attributes = {"form": form, "sign_zero": zero}
            yield Case(f"{form}-{zero}", (x, weights), attributes, exhaustive=True)
            bias = constant("b", np.array([-3, 0, 5]), scale=Scale.of(-4))
            yield Case(f"{form}-{zero}-bias", (x, weights, bias), attributes, exhaustive=True)
            dynamic = (
                activation("x", (1, 1), Format(5), Scale.of(-1)),
                activation("w", (1, 1), Format(5), Scale.of(-3)),
            )
            yield Case(f"{form}-{zero}-dynamic", dynamic, attributes, exhaustive=True)
    for grid in GRIDS:
        yield cancelling(convolution=False, attributes={"grid": grid})
        big = constant("w", rng.integers(-127, 128, (9, 5)), Format(8), Scale.of(-7 if grid == "shared" else -9))
        yield Case(grid, (activation("x", (3, 9), Format(8), Scale.of(-7)), big), {"grid": grid})
        bias = constant("b", rng.integers(-99, 99, 5), scale=Scale.of(-7 if grid == "shared" else -9))
        yield Case(
            f"{grid}-bias", (activation("x", (9,), Format(8), Scale.of(-7)), big, bias), {"grid": grid, "form": "abs"}
        )
    per_channel = constant("w", rng.integers(-7, 8, (6, 3)), Format(4), Scale((-6, -3, -4), 1))
    bias = constant("b", np.array([9, -9, 1]), scale=Scale((-6, -4, -4), 0))
    yield Case("per-channel", (activation("x", (6,), Format(6, False), Scale.of(-4)), per_channel), {})
    yield Case(
        "per-channel-bias", (activation("x", (6,), Format(6), Scale.of(-4)), per_channel, bias), {"sign_zero": 1}
    )
    dynamic = (activation("x", (2, 3, 4), Format(8), Scale.of(-7)), activation("w", (2, 4, 5), Format(8), Scale.of(-5)))
    yield Case("dynamic", dynamic, {"form": "abs"})
    yield Case("dynamic-aligned", dynamic, {"grid": "aligned"})
    wide = constant("w", np.array([[2**40 - 1], [-(2**40)]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (2,), Format(44), Scale.of(12)), wide), {})
    longest = constant("w", np.array([[3], [0], [0], [-2]]))
    yield Case("word-of-63-bits", (activation("x", (4,), Format(61)), longest), {})
    past = constant("w", rng.integers(-127, 128, (300, 2)), Format(8), Scale.of(-12))
    yield Case("past-2**24", (activation("x", (300,), Format(16), Scale.of(-10)), past), {})


# mf_conv2d: two-dimensional convolution with the MF operator in place of the multiplication.
#
#     y[o, r, s] = sum_{c, i, j} term(x[c, r*stride + i*dilation - pad, ...], w[o, c, i, j]) + bias[o]
#
# The window is not mirrored (as in ONNX `Conv`). Terms, forms and grids: `mfsim/ops/products.py`.
# Padding is code 0 before the operator, and its terms are executed like all others, so every output
# costs what an output of `mf_matmul` of length C / groups * rows * columns costs. Signs and
# magnitudes of x are made once for each code of x, not for each tap; the sign of padding is wired.


def cases_mf_conv2d():
    rng = np.random.default_rng(1)
    x = activation("x", (1, 1, 3), Format(4), Scale.of(-4))
    weights = constant("w", np.array([[[[-3, 2]]], [[[0, -4]]]]), Format(3), Scale.of(-2))
    bias = constant("b", np.array([-3, 5]), scale=Scale.of(-4))
    for form in FORMS:
        for zero in (0, 1):
            attributes = {"form": form, "sign_zero": zero}
            yield Case(f"{form}-{zero}", (x, weights), attributes, exhaustive=True)
            yield Case(
                f"{form}-{zero}-pads-bias", (x, weights, bias), attributes | {"pads": (0, 1, 0, 1)}, exhaustive=True
            )
    for grid in GRIDS:
        yield cancelling(convolution=True, attributes={"grid": grid})
    for k, (name, x_shape, w_shape, attributes) in enumerate(geometries()):
        grid = GRIDS[k % 3]
        w = constant("w", rng.integers(-127, 128, w_shape), Format(8), Scale.of(-7 if grid == "shared" else -4))
        start = constant("b", rng.integers(-999, 999, w_shape[0]), scale=Scale.of(-7))
        inputs = (activation("x", x_shape, Format(8), Scale.of(-7)), w, start)
        yield Case(name, inputs[:2], attributes | {"grid": grid, "form": FORMS[k % 2], "sign_zero": 1})
        yield Case(f"{name}-bias", inputs, attributes | {"grid": grid, "sign_zero": 1 - k % 2})
    scales = Scale((-6, -3, -4), 0)
    w = constant("w", rng.integers(-7, 8, (3, 2, 2, 1)), Format(4), scales)
    start = constant("b", np.array([9, -9, 1]), scale=Scale((-6, -4, -4), 0))
    unsigned = activation("x", (2, 3, 2), Format(6, False), Scale.of(-4))
    yield Case("per-channel", (unsigned, w), {"sign_zero": 1, "pads": (1, 0, 0, 0)})
    yield Case("per-channel-bias", (unsigned, w, start), {"form": "abs"})
    ranged = replace(unsigned, range=Range((3, 0), (60, 9), 1))
    yield Case("ranges-by-channel", (ranged, w), {})
    yield Case("ranges-by-channel-pads", (ranged, w), {"pads": (1, 1, 0, 0), "sign_zero": 1})
    grouped = constant("w", rng.integers(-7, 8, (4, 1, 2, 2)), Format(4), Scale.of(-4))
    yield Case("ranges-by-channel-groups", (ranged, grouped), {"groups": 2})
    small = replace(activation("x", (2, 1, 2), Format(3)), range=Range((1, -2), (3, 3), 1))
    yield Case("exhaustive-ranges", (small, constant("w", np.array([[[[2]], [[-3]]]]))), {}, exhaustive=True)
    positive = replace(activation("x", (1, 1, 3), Format(4)), range=Range.of(2, 5))
    one_sided = constant("w", np.array([[[[3, -2]]]]))
    yield Case("exhaustive-positive-pads", (positive, one_sided), {"pads": (0, 1, 0, 0)}, exhaustive=True)
    by_column = replace(positive, range=Range((-3, 0, 2), (-2, 1, 3), 3))
    yield Case("exhaustive-ranges-by-column", (by_column, one_sided), {}, exhaustive=True)
    wide = constant("w", np.array([[[[2**40 - 1, -(2**40)]]]]), scale=Scale.of(0))
    yield Case("past-2**53", (activation("x", (1, 2, 2), Format(44), Scale.of(12)), wide), {"pads": (0, 1, 1, 0)})
    many = constant("w", rng.integers(-127, 128, (2, 16, 3, 3)), Format(8), Scale.of(-12))
    yield Case("past-2**24", (activation("x", (16, 3, 3), Format(16), Scale.of(-9)), many), {})


# mf_mul: element-wise product with the MF operator.
#
#     y = term(x, w)
#
# w is a second activation of x's shape, or a constant that broadcasts against one sample of x. Terms,
# forms and grids: `mfsim/ops/products.py`. An element on split grids takes 1 addition and 2 negations,
# and 1 shift where the scales differ; on one grid 1 addition and 1 negation.


def cases_mf_mul():
    rng = np.random.default_rng(4)
    for form in FORMS:
        for zero in (0, 1):
            for grid in GRIDS:
                shared = grid == "shared"
                x = activation("x", (1,), Format(6), Scale.of(-3))
                w = activation("w", (1,), Format(6), Scale.of(-3 if shared else -1 - 4 * zero))
                attributes = {"form": form, "sign_zero": zero, "grid": grid}
                yield Case(f"{form}-{zero}-{grid}", (x, w), attributes, exhaustive=True)
                weights = constant("w", np.array([[-8], [0], [1], [7]]), Format(4), w.scale)
                yield Case(
                    f"{form}-{zero}-{grid}-constant",
                    (activation("x", (4, 1), Format(3), x.scale), weights),
                    attributes,
                    True,
                )
    x = activation("x", (3, 2, 2), Format(8, False), Scale.of(-7))
    by_channel = replace(x, range=Range((1, 0, 7), (9, 255, 7), 1))
    yield Case("unsigned", (x, activation("w", (3, 2, 2), Format(8), Scale.of(-7))), {"form": "abs"})
    yield Case("ranges-by-channel", (by_channel, activation("w", (3, 2, 2), Format(5), Scale.of(-4))), {})
    other = replace(activation("w", (3, 2, 2), Format(5)), range=Range((-3, 1), (2, 15), 3))
    yield Case("ranges-by-column", (x, other), {"sign_zero": 1})
    yield Case("both-ranges", (by_channel, other), {"form": "abs"})
    yield Case("scalar", (x, constant("w", np.array(-5))), {})
    yield Case("broadcast", (by_channel, constant("w", rng.integers(-9, 9, (3, 1, 2)))), {})
    wide = activation("x", (2,), Format(50), Scale.of(3))
    yield Case("past-2**53", (wide, activation("w", (2,), Format(55), Scale.of(-1))), {})
    yield Case(
        "past-2**24", (activation("x", (2,), Format(30)), activation("w", (2,), Format(24))), {"grid": "aligned"}
    )
