"""abs: y = |x|. The magnitude of the least code needs one bit more: |-128| = 128 is an unsigned 8-bit code."""

from __future__ import annotations

import numpy as np

from mfsim.ops.op import Inference, Op, result, rows, size
from mfsim.ops.traits import Trait


def _magnitude(lo: int, hi: int) -> tuple[int, int]:
    """Return the exact bounds of |x| for lo <= x <= hi."""
    return (0 if lo <= 0 <= hi else min(abs(lo), abs(hi))), max(abs(lo), abs(hi))


def _infer(tensors, attributes):
    (x,) = tensors
    return Inference((result(x.shape, x.range.map(_magnitude), x.scale, "abs"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x < 0, -x, x).astype(object)]


def _count(node, inputs, outputs):
    return rows(node, ("abs", (inputs[0].format.bits,), size(inputs[0].shape)))


OP = Op(
    name="abs",
    summary="magnitude",
    attributes=(),
    inputs=("x",),
    traits=frozenset({Trait.KEEPS_GRID}),
    primitives=frozenset({"abs"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
)
