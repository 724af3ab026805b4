"""half_step: y = x for x >= 0, else x / 2: a leaky ReLU whose slope is a shift; exact on a grid twice as fine."""

from __future__ import annotations

import numpy as np

from mfsim.ops.op import Inference, Op, result, rows, size
from mfsim.ops.traits import Signature, Trait


def infer(tensors, attributes):
    (x,) = tensors
    bounds = x.range.map(lambda lo, hi: (max(lo, 2 * lo), max(hi, 2 * hi)))
    return Inference((result(x.shape, bounds, x.scale.moved((-1,), None), "half_step"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x >= 0, 2 * x, x).astype(object)]


def count(node, inputs, outputs):
    bits, n = inputs[0].format.bits, size(outputs[0].shape)
    return rows(node, ("shift", (bits,), n), ("cmp", (bits,), n), ("select", (outputs[0].format.bits,), n))


OP = Op(
    name="half_step",
    summary="x for x >= 0, else x / 2",
    attributes=(),
    inputs=("x",),
    traits=frozenset({Trait.KEEPS_GRID}),
    signature=Signature("HalfStep"),
    primitives=frozenset({"shift", "cmp", "select"}),
    infer=infer,
    reference=reference,
    count=count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
