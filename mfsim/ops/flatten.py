"""flatten: all codes of a sample on one axis, in unchanged (row-major) order."""

from __future__ import annotations

import numpy as np

from mfsim.formats import Format, Range, Scale
from mfsim.ops.layout import reshaped
from mfsim.ops.op import Case, Inference, Op, activation, no_operations
from mfsim.program import Tensor


def infer(tensors, attributes):
    (x,) = tensors
    return Inference((reshaped(x, (x.shape[0], x.sample_size), "flatten"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    places = list(np.ndindex(*x.shape[1:]))
    out = np.empty((len(x), len(places)), dtype=object)
    for n in range(len(x)):
        for place, index in enumerate(places):
            out[n, place] = x[(n, *index)]
    return [out]


def cases():
    yield Case("square", (activation("x", (2, 2), Format(3), Scale.of(-2)),), exhaustive=True)
    yield Case("flat-already", (activation("x", (3,), Format(2, False)),), exhaustive=True)
    yield Case("one-code", (activation("x", (), Format(4)),), exhaustive=True)
    for axis, lo, hi in (
        (1, (-(2**62), -3), (-9, 3)),
        (2, (-9, -3, 0), (-1, 3, 2**54)),
        (3, (-9, -3, 0, 5), (-1, 3, 4, 6)),
    ):
        x = Tensor("x", (1, 2, 3, 4), Format(63), Scale.of(1), Range(lo, hi, axis))
        yield Case(f"range-on-axis-{axis}", (x,))
    flat = Tensor("x", (1, 3, 1), Format(9), Scale((-3, -5, -4), 1), Range((-256, -3, 2), (-9, 3, 54), 1))
    yield Case("per-channel-of-one-code", (flat,))


OP = Op(
    name="flatten",
    summary="all codes of a sample on one axis",
    attributes=(),
    inputs=("x",),
    primitives=frozenset(),
    infer=infer,
    reference=reference,
    count=no_operations,
    cases=cases,
)
