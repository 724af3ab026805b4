"""reshape: the codes of each sample, in unchanged (row-major) order, in another shape."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ops.layout.axes import reshaped
from mfsim.ops.op import Attribute, Inference, Op, no_operations
from mfsim.ops.traits import Trait


def _infer(tensors, attributes):
    (x,) = tensors
    shape = attributes["shape"]
    if any(n < 1 for n in shape) or int(np.prod(shape, dtype=object)) != x.sample_size:
        raise ShapeError(f"`shape` of op `reshape` must hold {x.sample_size} codes like {x.shape[1:]}, not be {shape}")
    return Inference((reshaped(x, (x.shape[0], *shape), "reshape"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    out = np.empty((len(x), *attributes["shape"]), dtype=object)
    for n in range(len(x)):
        for place, index in zip(np.ndindex(*attributes["shape"]), np.ndindex(*x.shape[1:]), strict=True):
            out[(n, *place)] = x[(n, *index)]
    return [out]


OP = Op(
    name="reshape",
    summary="another shape, codes in unchanged order",
    attributes=(Attribute("shape", "ints", "shape of a sample, without the batch"),),
    inputs=("x",),
    traits=frozenset({Trait.LAYOUT, Trait.VIEW}),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
