"""max_pool2d: the greatest code of each window.

    y[c, r, s] = max_{i, j} x[c, r*stride + i*dilation - pad, ...],   padding left out

k codes in a window take k - 1 comparisons and k - 1 selections. Channels do not mix, so each may
have its own scale.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.errors import FormatError
from mfsim.formats import Format, Range, Scale
from mfsim.ops.op import Case, Inference, Op, activation, result, rows
from mfsim.ops.windows import DILATIONS, KERNEL, PADS, STRIDES, plane_shape, tap_planes, taps_inside

BELOW = -(2**63)
"""A number less than every code; it stands for padding in the definition."""


def infer(tensors, attributes):
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


def reference(inputs, attributes):
    (x,) = inputs
    planes = [plane for _, plane in tap_planes(x, attributes["kernel"], attributes, BELOW)]
    greatest = planes[0]
    for plane in planes[1:]:
        greatest = np.maximum(greatest, plane)
    return [greatest]


def count(node, inputs, outputs):
    (x,), (y,) = inputs, outputs
    rows_inside, columns_inside = taps_inside("max_pool2d", x, y.shape[2:], node.attributes)
    codes = sum(rows_inside) * sum(columns_inside)
    n = y.shape[1] * (codes - y.shape[2] * y.shape[3])
    return rows(node, ("cmp", (x.format.bits,), n), ("select", (x.format.bits,), n))


def cases():
    small = activation("x", (1, 2, 2), Format(4))
    yield Case("exhaustive", (small,), {"kernel": (2, 2)}, exhaustive=True)
    yield Case(
        "exhaustive-pads",
        (activation("x", (1, 1, 3), Format(4)),),
        {"kernel": (3, 2), "pads": (1, 1, 1, 0)},
        exhaustive=True,
    )
    yield Case("one", (small,), {"kernel": (1, 1)}, exhaustive=True)
    x = activation("x", (3, 6, 7), Format(8), Scale((-3, -5, -5), 1))
    yield Case("strides", (x,), {"kernel": (2, 2), "strides": (2, 2)})
    yield Case("overlap", (x,), {"kernel": (3, 3), "strides": (2, 1), "pads": (1, 1, 1, 1)})
    yield Case("dilations", (x,), {"kernel": (3, 2), "dilations": (2, 3), "pads": (0, 2, 1, 1)})
    sparse = {"kernel": (3, 2), "dilations": (2, 1), "pads": (2, 1, 3, 0)}
    yield Case("dilations-over-x", (activation("x", (1, 2, 1), Format(8)),), sparse, exhaustive=True)
    yield Case("global", (x,), {"kernel": (6, 7)})
    ranged = replace(activation("x", (2, 2, 2), Format(3)), range=Range((-4, 1), (-2, 3), 1))
    yield Case("ranges-by-channel", (ranged,), {"kernel": (2, 2), "pads": (1, 0, 0, 0)})
    by_row = replace(activation("x", (1, 2, 2), Format(4)), range=Range((-4, 1), (-2, 3), 2))
    yield Case("ranges-by-row", (by_row,), {"kernel": (2, 1)}, exhaustive=True)
    yield Case("past-2**53", (activation("x", (1, 3, 3), Format(63)),), {"kernel": (2, 2)})


OP = Op(
    name="max_pool2d",
    summary="greatest code of each window",
    attributes=(KERNEL, STRIDES, PADS, DILATIONS),
    inputs=("x",),
    primitives=frozenset({"cmp", "select"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=infer,
    reference=reference,
    count=count,
    cases=cases,
)
