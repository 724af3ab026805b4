"""min_conv2d: two-dimensional convolution with the signed minimum of magnitudes in place of products.

    y[o, r, s] = sum_{c, i, j} sign(x w) min(|x|, |w|) + bias[o],   x = x[c, r*stride + i*dilation - pad, ...]

The window is not mirrored; padding is code 0, whose terms are 0. Grids, ranges and sources:
`mfsim/ops/distance/definition.py`. An output costs what one of `min_matmul` of length C / groups * rows * columns
costs; x is aligned and its magnitude taken once for each code.
"""

from __future__ import annotations

from mfsim.ops.distance.definition import ALIGNED_ATTRIBUTES, aligned_count, aligned_inference, aligned_term, derive_for
from mfsim.ops.distance.min_matmul import HELD, MIN
from mfsim.ops.op import Op
from mfsim.ops.products import unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, counted_terms, window_sums, window_terms


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return aligned_inference(MIN, tensors, attributes, window_sums("min_conv2d", x, w, attributes))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + aligned_term(MIN, a, b, attributes)
    return [total]


def _count(node, inputs, outputs, taps="executed"):
    return aligned_count(MIN, node, inputs, *counted_terms(inputs, outputs, node.attributes, taps))


OP = Op(
    name="min_conv2d",
    summary="two-dimensional convolution with sign(x w) min(|x|, |w|) as multiplication",
    attributes=(*ALIGNED_ATTRIBUTES, *CONVOLUTION_ATTRIBUTES),
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.CONVOLUTION, Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.OUTPUTS_FIRST, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("MinConv", (X, W), ("strides", "pads", "dilations", "group")),
    primitives=frozenset({"addsub", "abs", "neg", "cmp", "select", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    derive=derive_for("min_conv2d"),
    held=HELD,
)
