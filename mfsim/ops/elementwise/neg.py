"""neg: y = -x. The negated least code needs one bit more: -(-128) = 128."""

from __future__ import annotations

from mfsim.ops.op import Inference, Op, result, rows, size


def _infer(tensors, attributes):
    (x,) = tensors
    return Inference((result(x.shape, x.range.map(lambda lo, hi: (-hi, -lo)), x.scale, "neg"),), tight=True)


def _reference(inputs, attributes):
    return [0 - inputs[0]]


def _count(node, inputs, outputs):
    return rows(node, ("neg", (inputs[0].format.bits,), size(inputs[0].shape)))


OP = Op(
    name="neg",
    summary="negation",
    attributes=(),
    inputs=("x",),
    primitives=frozenset({"neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
)
