"""abs: y = |x|. The magnitude of the least code needs one bit more: |-128| = 128 is an unsigned 8-bit code."""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, Inference, Op, activation, result, rows, size
from mfsim.program import Tensor


def magnitude(lo: int, hi: int) -> tuple[int, int]:
    """Return the exact bounds of |x| for lo <= x <= hi."""
    return (0 if lo <= 0 <= hi else min(abs(lo), abs(hi))), max(abs(lo), abs(hi))


def infer(tensors, attributes):
    (x,) = tensors
    return Inference((result(x.shape, x.range.map(magnitude), x.scale, "abs"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    return [np.where(x < 0, -x, x).astype(object)]


def count(node, inputs, outputs):
    return rows(node, ("abs", (inputs[0].format.bits,), size(inputs[0].shape)))


def cases():
    for bits in (1, 2, 8, 16):
        yield Case(f"s{bits}", (activation("x", (1,), Format(bits)),), exhaustive=True)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    for lo, hi in ((-9, -3), (4, 7), (-8, 0), (0, 0)):
        x = Tensor("x", (1, 1), Format(5), Scale.of(-2), Range.of(lo, hi))
        yield Case(f"{lo}..{hi}", (x,), exhaustive=True)
    x = Tensor("x", (1, 3, 2), Format(9), Scale((-3, -4, 0), 1), Range((-256, -5, 2), (-1, 255, 3), 1))
    yield Case("per-channel", (x,))
    yield Case("s63", (activation("x", (3,), Format(63)),))


OP = Op(
    name="abs",
    summary="magnitude",
    attributes=(),
    inputs=("x",),
    primitives=frozenset({"abs"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
