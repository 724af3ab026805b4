"""adder_matmul: matrix product with negated distances in place of products (AdderNet).

    y[..., o] = -sum_k |x[..., k] - w[k, o]| + bias[o]

Weights are a constant [K, O], or a second activation [batch, ..., K, O] (no bias then). Grids, ranges and
sources: `mfsim/ops/distance/definition.py`. An output takes K subtractions, K magnitudes and K further additions
with a bias; without, the last of them is a negation.
"""

from __future__ import annotations

import numpy as np

from mfsim.ir.formats import Format
from mfsim.ops.bounds import Operands
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


def _bounds(operands: Operands, shift_x: int, shift_w: int) -> tuple[np.ndarray, np.ndarray]:
    """Return -|x - w| at the farthest corners, and where x and w come nearest on their own grids."""
    corners = [
        abs((x << shift_x) - (w << shift_w))
        for x in (operands.x_lo, operands.x_hi)
        for w in (operands.w_lo, operands.w_hi)
    ]
    farthest = nearest = corners[0]
    for corner in corners[1:]:
        farthest, nearest = np.maximum(farthest, corner), np.minimum(nearest, corner)
    for x, w in _close(operands, shift_x, shift_w):
        nearest = np.minimum(nearest, abs((x << shift_x) - (w << shift_w)))
    return -farthest, -nearest


def _close(operands: Operands, shift_x: int, shift_w: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs among which are the nearest ones, apart from the corners.

    One of the shifts is 0, so one operand takes every place in its interval. The other one's places next to an
    end of that interval decide: between two of them there may be none.
    """
    x_lo, x_hi, w_lo, w_hi = operands.x_lo, operands.x_hi, operands.w_lo, operands.w_hi
    pairs = []
    for end in (w_lo, w_hi):
        for step in (0, 1):
            x = np.clip(((end << shift_w) >> shift_x) + step, x_lo, x_hi)
            pairs.append((x, np.clip((x << shift_x) >> shift_w, w_lo, w_hi)))
    for end in (x_lo, x_hi):
        for step in (0, 1):
            w = np.clip(((end << shift_x) >> shift_w) + step, w_lo, w_hi)
            pairs.append((np.clip((w << shift_w) >> shift_x, x_lo, x_hi), w))
    return pairs


def _words(x: Ends, w: Ends) -> dict[str, Format]:
    lo, hi = x[0] - w[1], x[1] - w[0]
    return {
        "difference": Format.of_range(lo, hi, "a difference"),
        "distance": Format.of_range(0, max(-lo, hi), "a distance"),
    }


def _count(node, bits):
    return [("addsub", bits), ("abs", (node.words["difference"].bits,))]


HELD: Held = {
    "shifted.shift_left": ("aligned_x", "aligned_w"),
    "run.aligned_w": "aligned_w",
    "adder_sums.absolute.addsub": "difference",
    "adder_sums.absolute": "distance",
    "adder_sums.total": "acc",
}
"""Which word holds which value; one of the two operands is aligned."""

ADDER = Term(
    value=lambda x, w: -abs(x - w),
    bounds=_bounds,
    words=_words,
    count=_count,
    addend="distance",
)


def _infer(tensors, attributes):
    x, w, _ = unpacked(tensors)
    return aligned_inference(ADDER, tensors, attributes, matrix_sums("adder_matmul", x, w))


def _reference(inputs, attributes):
    x, w, *bias = inputs
    total = bias[0] if bias else 0
    for a, b in matrix_terms(x, w):
        total = total + aligned_term(ADDER, a, b, attributes)
    return [total]


def _executed(node, inputs, outputs):
    total = size(outputs[0].shape)
    return aligned_count(ADDER, node, inputs, total * inputs[0].shape[-1], total)


OP = Op(
    name="adder_matmul",
    summary="matrix product with -|x - w| as multiplication (AdderNet)",
    attributes=ALIGNED_ATTRIBUTES,
    inputs=("x", "w", "bias?"),
    traits=frozenset({Trait.DISTANCE, Trait.FUSES_EPILOGUE, Trait.JOINS_GRIDS, Trait.PRODUCT}),
    roles={"w": Role.WEIGHT, "bias": Role.BIAS},
    signature=Signature("AdderMatMul", (X, W)),
    primitives=frozenset({"addsub", "abs", "neg", "shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_executed,
    derive=derive_for("adder_matmul"),
    held=HELD,
)
