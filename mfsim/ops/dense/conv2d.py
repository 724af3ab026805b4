"""conv2d: two-dimensional convolution with multiplications, the baseline of `mf_conv2d`.

    y[o, r, s] = sum_{c, i, j} x[c, r*stride + i*dilation - pad, ...] * w[o, c, i, j] + bias[o]

The result and the bias lie on the grid scale(x) * scale(w[o]). Padding is code 0, and its products
are executed like all others.
"""

from __future__ import annotations

from mfsim.ops.op import Op
from mfsim.ops.products import DENSE_HELD, dense_count, dense_inference, unpacked
from mfsim.ops.traits import Role, Trait
from mfsim.ops.windows import CONVOLUTION_ATTRIBUTES, counted_terms, window_sums, window_terms


def _infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    return dense_inference(x, w, bias, window_sums("conv2d", x, w, attributes))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0][:, None, None] if bias else 0
    for a, b in window_terms(x, w, attributes):
        total = total + a * b
    return [total]


def _count(node, inputs, outputs, taps="executed"):
    return dense_count(node, inputs, *counted_terms(inputs, outputs, node.attributes, taps))


OP = Op(
    name="conv2d",
    summary="two-dimensional convolution with multiplications (baseline)",
    attributes=CONVOLUTION_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    traits=frozenset(
        {Trait.CONVOLUTION, Trait.FUSES_EPILOGUE, Trait.MULTIPLY_ACCUMULATE, Trait.OUTPUTS_FIRST, Trait.PRODUCT}
    ),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    primitives=frozenset({"mul", "addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
    held=DENSE_HELD,
)
