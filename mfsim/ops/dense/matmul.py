"""matmul: matrix product with multiplications, the baseline of `mf_matmul`.

    y[..., o] = sum_k x[..., k] * w[k, o] + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). The result and
the bias lie on the grid scale(x) * scale(w[o]). An output takes K multiplications, by
constants or by activations, and K additions with a bias, K - 1 without. `constant` says what constant
weights are: learned, or fixed by the architecture (a cosine transform, say); they are counted so.

Constant weights [K, K] that are 0 above the diagonal are a triangle: output o is a sum over k >= o of K - o
products, and nothing is computed for the entries above. Other zeros among weights are multiplied.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.program import Tensor
from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Attribute, Op, size
from mfsim.ops.products import DENSE_HELD, dense_count, dense_inference, unpacked
from mfsim.ops.traits import Role, Trait


def _triangle(w: Tensor) -> str:
    """Return lower for constant weights [K, K] that are 0 above the diagonal, K at least 2; else none."""
    if w.codes is None or len(w.shape) != 2 or not w.shape[0] == w.shape[1] > 1:
        return "none"
    return "none" if np.triu(w.codes, 1).any() else "lower"


def _derive(tensors, attributes):
    return {"triangle": _triangle(tensors[1])}


def _infer(tensors, attributes):
    x, w, bias = unpacked(tensors)
    if attributes["triangle"] != _triangle(w):
        raise FormatError(
            f"`triangle` of op `matmul` must be {_triangle(w)} for these weights, not {attributes['triangle']}"
        )
    return dense_inference(x, w, bias, matrix_sums("matmul", x, w))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + a * b
    return [total]


def _count(node, inputs, outputs):
    length, total = inputs[0].shape[-1], size(outputs[0].shape)
    terms = total * (length + 1) // 2 if node.attributes["triangle"] == "lower" else total * length
    return dense_count(node, inputs, terms, total)


OP = Op(
    name="matmul",
    summary="matrix product with multiplications (baseline)",
    attributes=(
        Attribute("constant", "str", "what constant weights are", "learned", ("learned", "fixed")),
        Attribute("triangle", "str", "whether constant weights are a triangle", None, ("none", "lower"), derived=True),
    ),
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.FUSES_EPILOGUE, Trait.MULTIPLY_ACCUMULATE, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    primitives=frozenset({"mul", "addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
    held=DENSE_HELD,
)
