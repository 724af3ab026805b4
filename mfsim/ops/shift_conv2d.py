"""shift_conv2d: two-dimensional convolution with weights that are powers of two.

    y[o, r, s] = sum_{c, i, j} x[c, r*stride + i*dilation - pad, ...] * w[o, c, i, j] + bias[o]

The window is not mirrored; padding is code 0, whose terms are executed like all others. An output costs what
one of `shift_matmul` of length C / groups * rows * columns costs. Weights, words and sources:
`mfsim/ops/power_weights.py`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.mf_conv2d import geometries
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.ops.power_weights import shift_count, shift_inference
from mfsim.ops.products import unpacked
from mfsim.ops.shift_matmul import powers
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, window_sums, window_terms


def infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return shift_inference(tensors, window_sums("shift_conv2d", x, w, attributes))


def reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + a * b
    return [total]


def count(node, inputs, outputs):
    _, channels, rows, columns = inputs[1].shape
    return shift_count(node, inputs, outputs, channels * rows * columns)


def cases():
    rng = np.random.default_rng(11)
    x = activation("x", (1, 1, 3), Format(4), Scale.of(-4))
    weights = constant("w", np.array([[[[-4, 2]]], [[[0, -1]]]]), Format(4), Scale.of(-2))
    bias = constant("b", np.array([-3, 5]), scale=Scale.of(-6))
    yield Case("exhaustive", (x, weights), {}, exhaustive=True)
    yield Case("exhaustive-pads-bias", (x, weights, bias), {"pads": (0, 1, 0, 1)}, exhaustive=True)
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


OP = Op(
    name="shift_conv2d",
    summary="two-dimensional convolution with weights that are powers of two",
    attributes=CONVOLUTION_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"shift", "addsub", "neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
