"""concat: the inputs behind each other along `axis`, aligned to the finest of their grids.

Scales for each index of `axis` itself are concatenated, which costs nothing; any other unequal
scales are aligned by counted left shifts (see mfsim/ops/alignment.py).
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ir.formats import Range, Scale
from mfsim.ops.alignment import align, check_shifts, shifted
from mfsim.ops.layout.axes import check_axis, laid_out
from mfsim.ops.op import Attribute, Inference, Op, rows, size
from mfsim.ops.traits import Trait


def _aligned(tensors, axis) -> tuple[Scale, tuple[int, ...]]:
    if any(x.is_constant for x in tensors):
        raise ShapeError("the inputs of op `concat` must not be constant")
    first = tensors[0].shape
    check_axis("concat", axis, len(first))
    for x in tensors:
        if len(x.shape) != len(first) or any(
            n != m for k, (n, m) in enumerate(zip(x.shape, first, strict=True)) if k != axis
        ):
            raise ShapeError(f"the inputs of op `concat` must differ in axis {axis} only, not be {first} and {x.shape}")
    scales = [x.scale for x in tensors]
    if any(s.axis == axis for s in scales) and all(s.axis in (None, axis) for s in scales):
        steps = [step for x in tensors for step in x.scale.steps_along(x.shape[axis])]
        return Scale.of_steps(steps, axis), (0,) * len(tensors)
    return align("concat", scales)


def _derive(tensors, attributes):
    """Return the left shift of each input."""
    return {"shifts": _aligned(tensors, attributes["axis"])[1]}


def _infer(tensors, attributes):
    axis, shifts = attributes["axis"], attributes["shifts"]
    scale, needed = _aligned(tensors, axis)
    check_shifts("concat", ("shifts",), (shifts,), (needed,))
    parts = [shifted(x.range, places).along(axis, x.shape[axis]) for x, places in zip(tensors, shifts, strict=True)]
    lo, hi = (tuple(bound for part in parts for bound in part[end]) for end in (0, 1))
    shape = list(tensors[0].shape)
    shape[axis] = sum(x.shape[axis] for x in tensors)
    widest = max(tensors, key=lambda x: x.format.bits)
    return Inference((laid_out(widest, shape, Range(lo, hi, axis), scale, "concat"),), tight=True)


def _reference(inputs, attributes):
    scaled = [x * 2**places for x, places in zip(inputs, attributes["shifts"], strict=True)]
    return [np.concatenate(scaled, axis=attributes["axis"])]


def _count(node, inputs, outputs):
    places = node.attributes["shifts"]
    return rows(
        node, *(("shift", (x.format.bits,), size(x.shape) if p else 0) for x, p in zip(inputs, places, strict=True))
    )


OP = Op(
    name="concat",
    summary="inputs behind each other along an axis",
    attributes=(
        Attribute("axis", "int", "axis, 1 or more"),
        Attribute("shifts", "ints", "left shift of each input", derived=True),
    ),
    inputs=("x*",),
    traits=frozenset({Trait.LAYOUT}),
    primitives=frozenset({"shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    derive=_derive,
)
