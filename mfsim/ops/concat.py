"""concat: the inputs behind each other along `axis`, aligned to the finest of their grids.

Scales for each index of `axis` itself are concatenated, which costs nothing; any other unequal
scales are aligned by counted left shifts (see mfsim/ops/alignment.py).
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.alignment import align, check_shifts, shifted
from mfsim.ops.layout import check_axis, laid_out
from mfsim.ops.op import Attribute, Case, Inference, Op, activation, rows, size
from mfsim.program import Tensor


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


def derive(tensors, attributes):
    """Return the left shift of each input."""
    return {"shifts": _aligned(tensors, attributes["axis"])[1]}


def infer(tensors, attributes):
    axis, shifts = attributes["axis"], attributes["shifts"]
    scale, needed = _aligned(tensors, axis)
    check_shifts("concat", ("shifts",), (shifts,), (needed,))
    parts = [shifted(x.range, places).along(axis, x.shape[axis]) for x, places in zip(tensors, shifts, strict=True)]
    lo, hi = (tuple(bound for part in parts for bound in part[end]) for end in (0, 1))
    shape = list(tensors[0].shape)
    shape[axis] = sum(x.shape[axis] for x in tensors)
    widest = max(tensors, key=lambda x: x.format.bits)
    return Inference((laid_out(widest, shape, Range(lo, hi, axis), scale, "concat"),), tight=True)


def reference(inputs, attributes):
    scaled = [x * 2**places for x, places in zip(inputs, attributes["shifts"], strict=True)]
    return [np.concatenate(scaled, axis=attributes["axis"])]


def count(node, inputs, outputs):
    places = node.attributes["shifts"]
    return rows(
        node, *(("shift", (x.format.bits,), size(x.shape) if p else 0) for x, p in zip(inputs, places, strict=True))
    )


def cases():
    def x(name, shape, bits, exponent=0, signed=True):
        return activation(name, shape, Format(bits, signed), Scale.of(exponent))

    yield Case("two", (x("a", (1,), 4), x("b", (1,), 3)), {"axis": 1}, exhaustive=True)
    yield Case("signs", (x("a", (1,), 4, 0, False), x("b", (1,), 4)), {"axis": 1}, exhaustive=True)
    yield Case("aligned", (x("a", (2,), 3, -1), x("b", (1,), 3, -4)), {"axis": 1}, exhaustive=True)
    yield Case("one-input", (x("a", (2,), 5),), {"axis": 1}, exhaustive=True)
    three = (x("a", (2, 3, 2), 8, -2), x("b", (2, 1, 2), 5, -4), x("c", (2, 2, 2), 6, -3, False))
    yield Case("middle-axis", three, {"axis": 2})
    yield Case("last-axis", (x("a", (2, 3), 8, -2), x("b", (2, 2), 50, -5)), {"axis": 2})
    ranged = Tensor("a", (1, 3, 2), Format(8), Scale.of(-2), Range((-100, -3, 20), (-90, 3, 100), 1))
    yield Case("ranges-on-the-axis", (ranged, x("b", (1, 2), 4), ranged), {"axis": 1})
    yield Case("ranges-on-another-axis", (ranged, ranged), {"axis": 2})
    per_channel = activation("a", (3, 2), Format(63), Scale((-3, -5, -4), 1))
    yield Case("one-per-channel-scale", (per_channel, per_channel), {"axis": 2})
    yield Case("scales-behind-each-other", (per_channel, x("b", (2, 2), 20, -7)), {"axis": 1})


OP = Op(
    name="concat",
    summary="inputs behind each other along an axis",
    attributes=(
        Attribute("axis", "int", "axis, 1 or more"),
        Attribute("shifts", "ints", "left shift of each input", derived=True),
    ),
    inputs=("x*",),
    primitives=frozenset({"shift"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
    derive=derive,
)
