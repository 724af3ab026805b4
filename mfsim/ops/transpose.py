"""transpose: axis j of the result is axis perm[j] of x; the batch stays in front."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.layout import laid_out
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, no_operations
from mfsim.program import Tensor


def infer(tensors, attributes):
    (x,) = tensors
    perm = attributes["perm"]
    if sorted(perm) != list(range(len(x.shape))) or perm[0] != 0:
        raise ShapeError(
            f"`perm` of op `transpose` must order the axes 0..{len(x.shape) - 1} with 0 in front, not be {perm}"
        )
    scale = x.scale if x.scale.axis is None else x.scale.on(perm.index(x.scale.axis))
    range_ = x.range if x.range.axis is None else Range(x.range.lo, x.range.hi, perm.index(x.range.axis))
    return Inference((laid_out(x, [x.shape[axis] for axis in perm], range_, scale, "transpose"),), tight=True)


def reference(inputs, attributes):
    (x,) = inputs
    perm = attributes["perm"]
    out = np.empty([x.shape[axis] for axis in perm], dtype=object)
    for index in np.ndindex(*x.shape):
        out[tuple(index[axis] for axis in perm)] = x[index]
    return [out]


def cases():
    yield Case("square", (activation("x", (2, 2), Format(3), Scale.of(-2)),), {"perm": (0, 2, 1)}, exhaustive=True)
    yield Case("identity", (activation("x", (3,), Format(2, False)),), {"perm": (0, 1)}, exhaustive=True)
    x = Tensor(
        "x", (1, 2, 3, 4), Format(63), Scale((-3, -5, -4), 2), Range((-(2**62), -3, 2, -1), (-9, 3, 2**54, 1), 3)
    )
    for perm in ((0, 1, 3, 2), (0, 2, 1, 3), (0, 3, 2, 1)):
        yield Case("bytes-" + "".join(map(str, perm)), (activation("x", (3, 17, 19), Format(8)),), {"perm": perm})
    for perm in ((0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2), (0, 3, 2, 1)):
        yield Case("".join(map(str, perm)), (x,), {"perm": perm})


OP = Op(
    name="transpose",
    summary="axes in another order",
    attributes=(Attribute("perm", "ints", "axis of x for each axis of the result; perm[0] is 0"),),
    inputs=("x",),
    primitives=frozenset(),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=no_operations,
    cases=cases,
)
