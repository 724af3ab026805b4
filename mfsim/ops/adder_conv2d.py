"""adder_conv2d: two-dimensional convolution with negated distances in place of products (AdderNet).

    y[o, r, s] = -sum_{c, i, j} |x[c, r*stride + i*dilation - pad, ...] - w[o, c, i, j]| + bias[o]

The window is not mirrored. Padding is code 0 before the operator: a tap on it gives -|w|, so padding is
not neutral here. Grids, ranges and sources: `mfsim/ops/aligned.py`. An output costs what one of
`adder_matmul` of length C / groups * rows * columns costs; x is aligned once for each code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.adder_matmul import ADDER
from mfsim.ops.aligned import ALIGNED_ATTRIBUTES, aligned_count, aligned_inference, aligned_term, derive_for
from mfsim.ops.mf_conv2d import geometries
from mfsim.ops.op import Case, Op, activation, constant
from mfsim.ops.products import unpacked
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, window_sums, window_terms


def infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return aligned_inference(ADDER, tensors, attributes, window_sums("adder_conv2d", x, w, attributes))


def reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + aligned_term(ADDER, a, b, attributes)
    return [total]


def count(node, inputs, outputs):
    _, channels, rows, columns = inputs[1].shape
    return aligned_count(ADDER, node, inputs, outputs, channels * rows * columns)


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


def cases():
    return aligned_cases(8)


OP = Op(
    name="adder_conv2d",
    summary="two-dimensional convolution with -|x - w| as multiplication (AdderNet)",
    attributes=(*ALIGNED_ATTRIBUTES, *CONVOLUTION_ATTRIBUTES),
    inputs=("x", "w", "bias?"),
    primitives=frozenset({"addsub", "abs", "neg", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive_for("adder_conv2d"),
)
