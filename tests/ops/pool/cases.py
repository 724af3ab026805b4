"""Conformance cases of the pools."""

from __future__ import annotations

from dataclasses import replace

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Value
from mfsim.ops.op import Case, activation

# max_pool2d: the greatest code of each window.
#
#     y[c, r, s] = max_{i, j} x[c, r*stride + i*dilation - pad, ...],   padding left out
#
# k taps of a window take k - 1 comparisons and k - 1 selections; a tap in the padding repeats the first code
# of its window inside x, and is executed like all others. Channels do not mix, so each may have its own scale.


def cases_max_pool2d():
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


# sum_pool2d: the sum of each window, or its mean.
#
#     y[c, r, s] = sum_{i, j} x[c, r*stride + i - pad, ...],   padding is code 0
#
# With `mean` 1 the same codes lie on a grid that is finer by the area rows * columns, padding
# included, which has to be a power of two: no operation and no rounding. A window of area a takes
# a - 1 additions; zeros of the padding are executed like all other operands, as in a convolution, so
# that every output costs the same. Channels do not mix, so each may have its own scale.


def cases_sum_pool2d():
    small = activation("x", (1, 2, 2), Format(4))
    yield Case("exhaustive", (small,), {"kernel": (2, 2), "mean": 1}, exhaustive=True)
    pads: dict[str, Value] = {"kernel": (2, 3), "pads": (1, 1, 0, 1), "mean": 0}
    yield Case("exhaustive-pads", (activation("x", (1, 1, 3), Format(4)),), pads, exhaustive=True)
    positive = replace(activation("x", (1, 1, 3), Format(4)), range=Range.of(2, 7))
    yield Case("exhaustive-positive", (positive,), {"kernel": (1, 2), "pads": (0, 1, 0, 0), "mean": 1}, exhaustive=True)
    yield Case("one", (small,), {"kernel": (1, 1), "mean": 1}, exhaustive=True)
    x = activation("x", (3, 6, 7), Format(8), Scale((-3, -5, -5), 1))
    yield Case("strides", (x,), {"kernel": (2, 2), "strides": (2, 2), "mean": 1})
    yield Case("overlap", (x,), {"kernel": (3, 3), "strides": (2, 1), "pads": (1, 1, 1, 1), "mean": 0})
    yield Case("global", (x,), {"kernel": (6, 7), "mean": 0})
    ranged = replace(activation("x", (2, 2, 2), Format(3)), range=Range((-4, 1), (-2, 3), 1))
    yield Case("ranges-by-channel", (ranged,), {"kernel": (2, 2), "pads": (1, 0, 0, 0), "mean": 1})
    by_row = replace(activation("x", (1, 2, 2), Format(4)), range=Range((-4, 1), (-2, 3), 2))
    yield Case("ranges-by-row", (by_row,), {"kernel": (2, 1), "mean": 0}, exhaustive=True)
    yield Case("past-2**24", (activation("x", (1, 8, 8), Format(20)),), {"kernel": (8, 8), "mean": 1})
    yield Case("past-2**53", (activation("x", (1, 4, 4), Format(55, False)),), {"kernel": (4, 4), "mean": 1})
