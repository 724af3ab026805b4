"""max_pool2d: the greatest code of each window.

    y[c, r, s] = max_{i, j} x[c, r*stride + i*dilation - pad, ...],   padding left out

k taps of a window take k - 1 comparisons and k - 1 selections; a tap in the padding repeats the first code
of its window inside x, and is executed like all others. Channels do not mix, so each may have its own scale.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError
from mfsim.ops.op import Inference, Op, result, rows
from mfsim.ops.traits import Trait
from mfsim.ops.windows import DILATIONS, KERNEL, PADS, STRIDES, counted_taps, plane_shape, tap_planes, taps_inside

BELOW = -(2**63)
"""A number less than every code; it stands for padding in the definition."""


def _infer(tensors, attributes):
    (x,) = tensors
    plane = plane_shape("max_pool2d", x, attributes["kernel"], attributes)
    taps_inside("max_pool2d", x, plane, attributes)
    if x.scale.axis not in (None, 1):
        raise FormatError(
            f"x of op `max_pool2d` must have one scale in each channel, not one along axis {x.scale.axis}"
        )
    bounds = x.range if x.range.axis == 1 else x.range.merged()
    tight = x.range.axis in (None, 1)
    return Inference((result((*x.shape[:2], *plane), bounds, x.scale, "the result of max_pool2d"),), tight=tight)


def _reference(inputs, attributes):
    (x,) = inputs
    planes = [plane for _, plane in tap_planes(x, attributes["kernel"], attributes, BELOW)]
    greatest = planes[0]
    for plane in planes[1:]:
        greatest = np.maximum(greatest, plane)
    return [greatest]


def _count(node, inputs, outputs, taps="executed"):
    (x,), (y,) = inputs, outputs
    codes, windows = counted_taps(x, y, node.attributes["kernel"], node.attributes, taps)
    n = y.shape[1] * (codes - windows)
    return rows(node, ("cmp", (x.format.bits,), n), ("select", (x.format.bits,), n))


OP = Op(
    name="max_pool2d",
    summary="greatest code of each window",
    attributes=(KERNEL, STRIDES, PADS, DILATIONS),
    inputs=("x",),
    traits=frozenset({Trait.KEEPS_GRID, Trait.MAX_POOL}),
    primitives=frozenset({"cmp", "select"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    windowed=True,
)
