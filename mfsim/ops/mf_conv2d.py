"""mf_conv2d: two-dimensional convolution with the MF operator in place of the multiplication.

    y[o, r, s] = sum_{c, i, j} term(x[c, r*stride + i*dilation - pad, ...], w[o, c, i, j]) + bias[o]

The window is not mirrored (as in ONNX `Conv`). Terms, forms and grids: `mfsim/ops/products.py`.
Padding is code 0 before the operator, and its terms are executed like all others, so every output
costs what an output of `mf_matmul` of length C / groups * rows * columns costs. Signs and
magnitudes of x are made once for each code of x, not for each tap; the sign of padding is wired.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.ops.products import (
    FORMS,
    GRIDS,
    MF_ATTRIBUTES,
    derive,
    mf_count,
    mf_inference,
    mf_terms,
    shift_gains,
    unpacked,
)
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, window_sums, window_terms


def infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    return mf_inference(x, w, bias, attributes, window_sums("mf_conv2d", x, w, attributes))


def reference(inputs, attributes):
    x, w, *bias = inputs
    gains = [gain[:, None, None] for gain in shift_gains(attributes)]
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + mf_terms(a, b, attributes, gains)
    return [total]


def count(node, inputs, outputs):
    _, channels, rows, columns = inputs[1].shape
    return mf_count(node, inputs, outputs, channels * rows * columns, 1)


def geometries():
    """Yield (name, x shape, w shape, attributes) of convolutions that use every attribute."""
    yield "pointwise", (3, 2, 2), (4, 3, 1, 1), {}
    yield "valid", (2, 4, 5), (3, 2, 2, 3), {}
    yield "pads", (2, 4, 4), (2, 2, 3, 3), {"pads": (1, 1, 1, 1)}
    yield "uneven-pads", (1, 3, 4), (2, 1, 2, 3), {"pads": (0, 2, 1, 0)}
    yield "strides", (2, 6, 7), (2, 2, 3, 2), {"strides": (3, 2), "pads": (1, 0, 1, 1)}
    yield "dilations", (1, 6, 7), (2, 1, 2, 3), {"dilations": (3, 2), "pads": (0, 1, 1, 0)}
    yield "groups", (4, 3, 3), (6, 2, 2, 2), {"groups": 2, "pads": (1, 0, 0, 1)}
    yield "depthwise", (3, 5, 4), (3, 1, 3, 3), {"groups": 3, "strides": (2, 2), "pads": (1, 1, 1, 1)}
    yield "padding-only-windows", (1, 1, 1), (1, 1, 1, 1), {"pads": (1, 1, 0, 2)}


def cases():
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


OP = Op(
    name="mf_conv2d",
    summary="two-dimensional convolution with the MF operator",
    attributes=(*MF_ATTRIBUTES, *CONVOLUTION_ATTRIBUTES),
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
