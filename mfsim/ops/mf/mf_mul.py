"""mf_mul: element-wise product with the MF operator.

    y = term(x, w)

w is a second activation of x's shape, or a constant that broadcasts against one sample of x. Terms,
forms and grids: `mfsim/ops/products.py`. An element on split grids takes 1 addition and 2 negations,
and 1 shift where the scales differ; on one grid 1 addition and 1 negation.
"""

from __future__ import annotations

from mfsim.ops.bounds import mf_bounds
from mfsim.ops.broadcast_products import check_operands, element_operands, element_range, range_axis
from mfsim.ops.op import Inference, Op, result, size
from mfsim.ops.products import MF_ATTRIBUTES, derive, joined_scale, mf_count, mf_terms, mf_words, shift_gains
from mfsim.ops.traits import Input, Role, Signature, Trait, X


def _infer(tensors, attributes):
    x, w = tensors
    check_operands(x, w)
    scale = joined_scale(x.scale, w.scale, attributes, len(x.shape) - 1)
    operands, shape = element_operands(x, w)
    parts = mf_bounds(operands, attributes)
    range_ = element_range(parts[2].lo, parts[2].hi, shape, range_axis(x, w))
    words = mf_words(parts, None, attributes)
    return Inference((result(x.shape, range_, scale, "the result of mf_mul"),), words, tight=True)


def _reference(inputs, attributes):
    x, w = inputs
    return [mf_terms(x, w, attributes, shift_gains(attributes))]


def _count(node, inputs, outputs):
    (y,) = outputs
    return mf_count(node, inputs, outputs, len(y.shape) - 1, size(y.shape), size(y.shape))


OP = Op(
    name="mf_mul",
    summary="element-wise product with the MF operator",
    attributes=MF_ATTRIBUTES,
    inputs=("x", "w"),
    traits=frozenset({Trait.MF_TERMS}),
    signature=Signature("MFMul", (X, Input("W", Role.ACTIVATION)), ("form", "sign_zero", "grid")),
    primitives=frozenset({"addsub", "neg", "abs", "sign", "shift"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=derive,
    held={"plain.part_x": ("acc_x", "acc"), "plain.part_w": "acc_w", "plain.addsub": "acc"},
)
