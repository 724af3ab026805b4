"""mul: element-wise product with multiplications, the baseline of `mf_mul`.

    y = x * w

w is a second activation of x's shape, or a constant of one scale that broadcasts against one sample of
x. The result lies on the grid scale(x) * scale(w). `constant` says what a constant w is: learned, or
fixed by the architecture (rotations of positions, say); the multiplications are counted so.
"""

from __future__ import annotations

from mfsim.errors import FormatError
from mfsim.ops.bounds import dense_bounds
from mfsim.ops.broadcast_products import check_operands, element_operands, element_range, range_axis
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size


def _infer(tensors, attributes):
    x, w = tensors
    check_operands(x, w)
    if x.scale.axis is not None or w.scale.axis is not None:
        raise FormatError("x and w of op `mul` must have one scale each; requantize first")
    operands, shape = element_operands(x, w)
    bounds = dense_bounds(operands)
    range_ = element_range(bounds.lo, bounds.hi, shape, range_axis(x, w))
    return Inference((result(x.shape, range_, x.scale.times(w.scale.steps), "the result of mul"),), tight=x is not w)


def _reference(inputs, attributes):
    x, w = inputs
    return [x * w]


def _count(node, inputs, outputs):
    x, w = inputs
    multiplied_by = node.attributes["constant"] if w.is_constant else "activation"
    return rows(node, ("mul", (x.format.bits, w.format.bits), size(outputs[0].shape), multiplied_by))


OP = Op(
    name="mul",
    summary="element-wise product, with multiplications",
    attributes=(Attribute("constant", "str", "what a constant w is", "learned", ("learned", "fixed")),),
    inputs=("x", "w"),
    primitives=frozenset({"mul"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
)
