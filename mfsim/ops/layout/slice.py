"""slice: the entries range(start, end, step) of each listed axis; a negative step goes backwards.

Bounds are those of Python's `range`: 0 <= start, and an `end` of -1 with a negative step means that
index 0 is the last entry.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ops.layout.axes import check_axis, laid_out, picked_range, picked_scale
from mfsim.ops.op import Attribute, Inference, Op, no_operations
from mfsim.ops.traits import Trait


def _indices(shape, attributes) -> dict[int, range]:
    """Return the kept indices of each sliced axis."""
    axes, starts, ends, steps = (attributes[name] for name in ("axes", "starts", "ends", "steps"))
    if not len(axes) == len(starts) == len(ends) == len(steps) == len(set(axes)):
        raise ShapeError("op `slice` needs one of `starts`, `ends` and `steps` for each of its different `axes`")
    kept = {}
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        check_axis("slice", axis, len(shape))
        kept[axis] = range(start, end, step) if step else range(0)
        if not kept[axis] or min(kept[axis]) < 0 or max(kept[axis]) >= shape[axis]:
            raise ShapeError(
                f"start {start}, end {end}, step {step} of op `slice` must keep indices in 0..{shape[axis] - 1} of axis {axis}"
            )
    return kept


def _infer(tensors, attributes):
    (x,) = tensors
    kept = _indices(x.shape, attributes)
    shape = tuple(len(kept.get(axis, range(n))) for axis, n in enumerate(x.shape))
    scale, range_ = x.scale, x.range
    if scale.axis in kept:
        scale = picked_scale(scale, kept[scale.axis], scale.axis)
    if range_.axis in kept:
        range_ = picked_range(range_, kept[range_.axis], range_.axis)
    return Inference((laid_out(x, shape, range_, scale, "slice"),), tight=True)


def _reference(inputs, attributes):
    (x,) = inputs
    for axis, indices in _indices(x.shape, attributes).items():
        x = np.stack([np.take(x, i, axis) for i in indices], axis)
    return [x]


OP = Op(
    name="slice",
    summary="some entries of some axes",
    attributes=(
        Attribute("axes", "ints", "sliced axes, each 1 or more"),
        Attribute("starts", "ints", "first index of each"),
        Attribute("ends", "ints", "index behind the last of each"),
        Attribute("steps", "ints", "step of each, not 0"),
    ),
    inputs=("x",),
    traits=frozenset({Trait.ANY_WORD, Trait.LAYOUT, Trait.SELECTS}),
    primitives=frozenset(),
    infer=_infer,
    reference=_reference,
    count=no_operations,
)
