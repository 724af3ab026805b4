"""flatten: all codes of a sample on one axis, in unchanged (row-major) order."""

from __future__ import annotations

import numpy as np

from mfsim.ops.layout.axes import reshaped
from mfsim.ops.op import Inference, Op, no_operations
from mfsim.ops.traits import Trait


def _infer(tensors, attributes):
    (x,) = tensors
    return Inference((reshaped(x, (x.shape[0], x.sample_size), "flatten"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    places = list(np.ndindex(*x.shape[1:]))
    out = np.empty((len(x), len(places)), dtype=object)
    for n in range(len(x)):
        for place, index in enumerate(places):
            out[n, place] = x[(n, *index)]
    return [out]


OP = Op(
    name="flatten",
    summary="all codes of a sample on one axis",
    attributes=(),
    inputs=("x",),
    traits=frozenset({Trait.LAYOUT, Trait.VIEW}),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
