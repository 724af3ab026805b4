"""mf_matmul: matrix product with the MF operator in place of the multiplication.

    y[..., o] = sum_k term(x[..., k], w[k, o]) + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Terms, forms
and grids: `mfsim/ops/products.py`. With a bias an output on split grids takes 2K additions, 1
negation and 1 shift; without, 2K - 1, 2 and 1.
"""

from __future__ import annotations

from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Op, size
from mfsim.ops.products import MF_ATTRIBUTES, MF_HELD, derive, mf_count, mf_inference, mf_terms, shift_gains, unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X


def _infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    return mf_inference(x, w, bias, attributes, matrix_sums("mf_matmul", x, w))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    gains = shift_gains(attributes)
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + mf_terms(a, b, attributes, gains)
    return [total]


def _count(node, inputs, outputs):
    (y,) = outputs
    return mf_count(node, inputs, outputs, len(y.shape) - 1, size(y.shape) * inputs[0].shape[-1], size(y.shape))


OP = Op(
    name="mf_matmul",
    summary="matrix product with the MF operator",
    attributes=MF_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.MF_TERMS, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("MFMatMul", (X, W), ("form", "sign_zero", "grid")),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derive,
    held=MF_HELD,
)
