"""neg: y = -x. The negated least code needs one bit more: -(-128) = 128."""

from __future__ import annotations

from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, Inference, Op, activation, result, rows, size
from mfsim.program import Tensor


def infer(tensors, attributes):
    (x,) = tensors
    return Inference((result(x.shape, x.range.map(lambda lo, hi: (-hi, -lo)), x.scale, "neg"),), tight=True)


def reference(inputs, attributes):
    return [0 - inputs[0]]


def count(node, inputs, outputs):
    return rows(node, ("neg", (inputs[0].format.bits,), size(inputs[0].shape)))


def cases():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=True)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    x = Tensor("x", (1, 3, 2), Format(9), Scale((-3, -4, 0), 1), Range((-256, -5, 2), (-1, 255, 3), 1))
    yield Case("per-channel", (x,))
    yield Case("u62", (activation("x", (3,), Format(62, False), Scale.of(-9)),))
    yield Case("s62", (activation("x", (3,), Format(62)),))


OP = Op(
    name="neg",
    summary="negation",
    attributes=(),
    inputs=("x",),
    primitives=frozenset({"neg"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
