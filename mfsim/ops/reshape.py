"""reshape: the codes of each sample, in unchanged (row-major) order, in another shape."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.layout import reshaped
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, no_operations
from mfsim.program import Tensor


def infer(tensors, attributes):
    (x,) = tensors
    shape = attributes["shape"]
    if any(n < 1 for n in shape) or int(np.prod(shape, dtype=object)) != x.sample_size:
        raise ShapeError(f"`shape` of op `reshape` must hold {x.sample_size} codes like {x.shape[1:]}, not be {shape}")
    return Inference((reshaped(x, (x.shape[0], *shape), "reshape"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    out = np.empty((len(x), *attributes["shape"]), dtype=object)
    for n in range(len(x)):
        for place, index in zip(np.ndindex(*attributes["shape"]), np.ndindex(*x.shape[1:]), strict=True):
            out[(n, *place)] = x[(n, *index)]
    return [out]


def cases():
    yield Case("split", (activation("x", (4,), Format(3), Scale.of(-2)),), {"shape": (2, 2)}, exhaustive=True)
    yield Case("to-one-axis", (activation("x", (2, 2), Format(3)),), {"shape": (4,)}, exhaustive=True)
    yield Case("same", (activation("x", (3,), Format(2, False)),), {"shape": (3,)}, exhaustive=True)
    x = Tensor("x", (1, 3, 4), Format(63), Scale((-3, -5, -4), 1), Range((-(2**62), -3, 2), (-9, 3, 2**54), 1))
    yield Case("keeps-axis-1", (x,), {"shape": (3, 2, 2)})
    yield Case("moves-axis-1", (x,), {"shape": (1, 3, 4, 1)})
    on_1 = Tensor("x", (1, 4, 3), Format(8), Scale(), Range((-9, -3, 0, 5), (-1, 3, 4, 6), 1))
    on_2 = Tensor("x", (1, 3, 4), Format(8), Scale(), Range((-9, -3, 0, 5), (-1, 3, 4, 6), 2))
    for name, ranged in (("front", on_1), ("back", on_2)):
        for shape in ((12,), (2, 6), (6, 2), (4, 3), (3, 4), (2, 2, 3), (2, 3, 2)):
            yield Case(f"{name}-range-{'x'.join(map(str, shape))}", (ranged,), {"shape": shape})


OP = Op(
    name="reshape",
    summary="another shape, codes in unchanged order",
    attributes=(Attribute("shape", "ints", "shape of a sample, without the batch"),),
    inputs=("x",),
    primitives=frozenset(),
    infer=infer,
    reference=reference,
    count=no_operations,
    cases=cases,
)
