"""shift_conv2d: two-dimensional convolution with weights that are powers of two.

    y[o, r, s] = sum_{c, i, j} x[c, r*stride + i*dilation - pad, ...] * w[o, c, i, j] + bias[o]

The window is not mirrored; padding is code 0, whose terms are executed like all others. An output costs what
one of `shift_matmul` of length C / groups * rows * columns costs. Weights, words and sources:
`mfsim/ops/power_of_two/definition.py`.
"""

from __future__ import annotations

from mfsim.ops.op import Op
from mfsim.ops.power_of_two.definition import SHIFT_HELD, shift_count, shift_inference
from mfsim.ops.products import unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, counted_terms, window_sums, window_terms


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return shift_inference(tensors, window_sums("shift_conv2d", x, w, attributes))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + a * b
    return [total]


def _count(node, inputs, outputs, taps="executed"):
    return shift_count(node, inputs, *counted_terms(inputs, outputs, node.attributes, taps))


OP = Op(
    name="shift_conv2d",
    summary="two-dimensional convolution with weights that are powers of two",
    attributes=CONVOLUTION_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.CONVOLUTION, Trait.FUSES_EPILOGUE, Trait.OUTPUTS_FIRST, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("ShiftConv", (X, W), ("strides", "pads", "dilations", "group")),
    primitives=frozenset({"shift", "addsub", "neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    held=SHIFT_HELD,
)
