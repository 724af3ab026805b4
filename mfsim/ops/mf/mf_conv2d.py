"""mf_conv2d: two-dimensional convolution with the MF operator in place of the multiplication.

    y[o, r, s] = sum_{c, i, j} term(x[c, r*stride + i*dilation - pad, ...], w[o, c, i, j]) + bias[o]

The window is not mirrored (as in ONNX `Conv`). Terms, forms and grids: `mfsim/ops/products.py`.
Padding is code 0 before the operator, and its terms are executed like all others, so every output
costs what an output of `mf_matmul` of length C / groups * rows * columns costs. Signs and
magnitudes of x are made once for each code of x, not for each tap; the sign of padding is wired.
"""

from __future__ import annotations

from mfsim.ops.op import Op
from mfsim.ops.products import MF_ATTRIBUTES, MF_HELD, derive, mf_count, mf_inference, mf_terms, shift_gains, unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, counted_terms, window_sums, window_terms


def _infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    return mf_inference(x, w, bias, attributes, window_sums("mf_conv2d", x, w, attributes))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    gains = [gain[:, None, None] for gain in shift_gains(attributes)]
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + mf_terms(a, b, attributes, gains)
    return [total]


def _count(node, inputs, outputs, taps="executed"):
    return mf_count(node, inputs, outputs, 1, *counted_terms(inputs, outputs, node.attributes, taps))


OP = Op(
    name="mf_conv2d",
    summary="two-dimensional convolution with the MF operator",
    attributes=(*MF_ATTRIBUTES, *CONVOLUTION_ATTRIBUTES),
    inputs=("x", "w", "bias?"),
    traits=frozenset(
        {Trait.CONVOLUTION, Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.MF_TERMS, Trait.OUTPUTS_FIRST, Trait.PRODUCT}
    ),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("MFConv", (X, W), ("form", "sign_zero", "grid", "strides", "pads", "dilations", "group")),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    derive=derive,
    held=MF_HELD,
)
