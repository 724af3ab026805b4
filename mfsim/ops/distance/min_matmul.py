"""min_matmul: matrix product with the signed minimum of magnitudes in place of products.

    y[..., o] = sum_k sign(x[..., k]) sign(w[k, o]) min(|x[..., k]|, |w[k, o]|) + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Grids, ranges and
sources: `mfsim/ops/distance/definition.py`. The sign of 0 does not matter. Magnitudes are made once for each
code; a term takes the product of two signs (a conditional negation of 2 bits), a comparison and a
selection, and an addition whose mode is that sign.
"""

from __future__ import annotations

import numpy as np

from mfsim.ir.formats import Format
from mfsim.ops.bounds import Operands, signs
from mfsim.ops.distance.definition import (
    ALIGNED_ATTRIBUTES,
    Ends,
    Term,
    aligned_count,
    aligned_inference,
    aligned_term,
    derive_for,
)
from mfsim.ops.matrices import matrix_sums, matrix_terms
from mfsim.ops.op import Held, Op, size
from mfsim.ops.products import unpacked
from mfsim.ops.traits import Role, Signature, Trait, W, X

SIGN_BITS = 2
"""Bits of a sign: -1, 0 or +1."""


def _value(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    least: np.ndarray = signs(x, 0) * signs(w, 0) * np.minimum(abs(x), abs(w))
    return least


def _bounds(operands: Operands, shift_x: int, shift_w: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the extremes among the corners: a term is monotone in each operand while the other is fixed."""
    corners = [
        _value(x << shift_x, w << shift_w)
        for x in (operands.x_lo, operands.x_hi)
        for w in (operands.w_lo, operands.w_hi)
    ]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = np.minimum(low, corner), np.maximum(high, corner)
    return low, high


def _words(x: Ends, w: Ends) -> dict[str, Format]:
    largest = [max(-lo, hi, 0) for lo, hi in (x, w)]
    return {
        "magnitude_x": Format.of_range(0, largest[0], "the magnitude of x"),
        "magnitude_w": Format.of_range(0, largest[1], "the magnitude of w"),
        "least": Format.of_range(0, min(largest), "the lesser magnitude"),
    }


def _count(node, bits):
    words = node.words
    return [
        ("neg", (SIGN_BITS,)),
        ("cmp", (words["magnitude_x"].bits, words["magnitude_w"].bits)),
        ("select", (max(words["magnitude_x"].bits, words["magnitude_w"].bits),)),
    ]


HELD: Held = {
    "split_signs.shift_left": ("aligned_x", "aligned_w"),
    "run.magnitudes_x": "magnitude_x",
    "run.magnitudes_w": "magnitude_w",
    "least.return": "least",
    "min_sums.total": "acc",
}
"""Which word holds which value; one of the two operands is aligned."""

MIN = Term(value=_value, bounds=_bounds, words=_words, count=_count, addend="least", magnitudes=True)


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return aligned_inference(MIN, tensors, attributes, matrix_sums("min_matmul", x, w))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + aligned_term(MIN, a, b, attributes)
    return [total]


def _executed(node, inputs, outputs):
    total = size(outputs[0].shape)
    return aligned_count(MIN, node, inputs, total * inputs[0].shape[-1], total)


OP = Op(
    name="min_matmul",
    summary="matrix product with sign(x w) min(|x|, |w|) as multiplication",
    attributes=ALIGNED_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("MinMatMul", (X, W)),
    primitives=frozenset({"addsub", "abs", "neg", "cmp", "select", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_executed,
    derive=derive_for("min_matmul"),
    held=HELD,
)
