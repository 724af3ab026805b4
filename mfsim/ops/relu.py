"""relu: y = max(x, 0)."""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Scale
from mfsim.ops.op import Case, Inference, Op, activation, result, rows, size


def infer(tensors, attributes):
    (x,) = tensors
    bounds = x.range.map(lambda lo, hi: (max(lo, 0), max(hi, 0)))
    return Inference((result(x.shape, bounds, x.scale, "relu"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x > 0, x, 0).astype(object)]


def count(node, inputs, outputs):
    bits = inputs[0].format.bits
    n = size(outputs[0].shape)
    return rows(node, ("cmp", (bits,), n), ("select", (bits,), n))


def cases():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=bits <= 16)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    yield Case("s40", (activation("x", (3, 2, 2), Format(40), Scale((-3, -4, 0), 1)),))


OP = Op(
    name="relu",
    summary="max(x, 0)",
    attributes=(),
    inputs=("x",),
    primitives=frozenset({"cmp", "select"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
