"""relu: y = max(x, 0)."""

from __future__ import annotations

import numpy as np

from mfsim.ops.op import Inference, Op, result, rows, size
from mfsim.ops.traits import Trait


def _infer(tensors, attributes):
    (x,) = tensors
    bounds = x.range.map(lambda lo, hi: (max(lo, 0), max(hi, 0)))
    return Inference((result(x.shape, bounds, x.scale, "relu"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x > 0, x, 0).astype(object)]


def _count(node, inputs, outputs):
    bits = inputs[0].format.bits
    n = size(outputs[0].shape)
    return rows(node, ("cmp", (bits,), n), ("select", (bits,), n))


OP = Op(
    name="relu",
    summary="max(x, 0)",
    attributes=(),
    inputs=("x",),
    traits=frozenset({Trait.FUSES_EPILOGUE, Trait.KEEPS_GRID, Trait.RECTIFIES}),
    primitives=frozenset({"cmp", "select"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
)
