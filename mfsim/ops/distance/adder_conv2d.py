"""adder_conv2d: two-dimensional convolution with negated distances in place of products (AdderNet).

    y[o, r, s] = -sum_{c, i, j} |x[c, r*stride + i*dilation - pad, ...] - w[o, c, i, j]| + bias[o]

The window is not mirrored. Padding is code 0 before the operator: a tap on it gives -|w|, so padding is
not neutral here. Grids, ranges and sources: `mfsim/ops/distance/definition.py`. An output costs what one of
`adder_matmul` of length C / groups * rows * columns costs; x is aligned once for each code.
"""

from __future__ import annotations

from mfsim.ops.distance.adder_matmul import ADDER, HELD
from mfsim.ops.distance.definition import ALIGNED_ATTRIBUTES, aligned_count, aligned_inference, aligned_term, derive_for
from mfsim.ops.op import Op
from mfsim.ops.products import unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, counted_terms, window_sums, window_terms


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return aligned_inference(ADDER, tensors, attributes, window_sums("adder_conv2d", x, w, attributes))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + aligned_term(ADDER, a, b, attributes)
    return [total]


def _count(node, inputs, outputs, taps="executed"):
    return aligned_count(ADDER, node, inputs, *counted_terms(inputs, outputs, node.attributes, taps))


OP = Op(
    name="adder_conv2d",
    summary="two-dimensional convolution with -|x - w| as multiplication (AdderNet)",
    attributes=(*ALIGNED_ATTRIBUTES, *CONVOLUTION_ATTRIBUTES),
    inputs=("x", "w", "bias?"),
    traits=frozenset(
        {Trait.CONVOLUTION, Trait.DISTANCE, Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.OUTPUTS_FIRST, Trait.PRODUCT}
    ),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("AdderConv", (X, W), ("strides", "pads", "dilations", "group")),
    primitives=frozenset({"addsub", "abs", "neg", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    derive=derive_for("adder_conv2d"),
    held=HELD,
)
