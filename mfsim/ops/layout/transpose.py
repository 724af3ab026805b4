"""transpose: axis j of the result is axis perm[j] of x; the batch stays in front."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ir.formats import Range
from mfsim.ops.layout.axes import laid_out
from mfsim.ops.op import Attribute, Inference, Op, no_operations
from mfsim.ops.traits import Trait


def _infer(tensors, attributes):
    (x,) = tensors
    perm = attributes["perm"]
    if sorted(perm) != list(range(len(x.shape))) or perm[0] != 0:
        raise ShapeError(
            f"`perm` of op `transpose` must order the axes 0..{len(x.shape) - 1} with 0 in front, not be {perm}"
        )
    scale = x.scale if x.scale.axis is None else x.scale.on(perm.index(x.scale.axis))
    range_ = x.range if x.range.axis is None else Range(x.range.lo, x.range.hi, perm.index(x.range.axis))
    return Inference((laid_out(x, [x.shape[axis] for axis in perm], range_, scale, "transpose"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    perm = attributes["perm"]
    out = np.empty([x.shape[axis] for axis in perm], dtype=object)
    for index in np.ndindex(*x.shape):
        out[tuple(index[axis] for axis in perm)] = x[index]
    return [out]


OP = Op(
    name="transpose",
    summary="axes in another order",
    attributes=(Attribute("perm", "ints", "axis of x for each axis of the result; perm[0] is 0"),),
    inputs=("x",),
    traits=frozenset({Trait.ANY_WORD, Trait.LAYOUT, Trait.PERMUTES}),
    primitives=frozenset(),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
