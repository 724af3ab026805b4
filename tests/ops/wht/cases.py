"""Conformance cases of the Walsh-Hadamard transform."""

from __future__ import annotations

from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import Case, activation
from mfsim.ops.wht.wht import ORDERS

# wht: Walsh-Hadamard transform of the last axis, or of the last two (`dims` = 2).
#
#     Y = H X,   H[i, j] = (-1)**popcount(i & j)      (natural order, Sylvester)
#
# With `order` sequency the rows are sorted by their number of sign changes; with dyadic (Paley) row i is the
# product of the Rademacher functions that the bits of i name, the lowest bit the slowest of them,
# which is natural row i with its bits reversed. `block` n splits the axis
# into blocks of n (0: one block). Codes are never scaled: a norm only relabels the grid, q = log2 n:
#
#     none     2**0
#     shift    forward 2**-floor(q/2), inverse 2**-ceil(q/2); together exactly 1/n
#     ortho    2**(-q/2); only where that is a power of two
#
# H H = n I, so the transform is its own inverse up to the norm. n*q additions and subtractions per
# block, no multiplication; n-block of B-bit words needs exactly B + q bits.


def cases_wht():
    for bits in (1, 2, 3, 4):
        yield Case(f"n4-s{bits}", (activation("x", (4,), Format(bits)),), {}, exhaustive=True)
    for order in ORDERS[1:]:
        yield Case(f"n8-u2-{order}", (activation("x", (8,), Format(2, False)),), {"order": order}, exhaustive=True)
        ranged = Tensor(
            "x", (1, 8), Format(4), Scale(), Range((0, 1, 2, -3, -8, 0, 0, 5), (1, 2, 4, -2, -7, 1, 0, 7), 1)
        )
        yield Case(f"ranges-{order}", (ranged,), {"order": order}, exhaustive=True)
        yield Case(
            f"2d-blocks-{order}", (activation("x", (2, 16, 8), Format(8)),), {"dims": 2, "block": 8, "order": order}
        )
    yield Case("n1", (activation("x", (1,), Format(4)),), {}, exhaustive=True)
    yield Case("n2-shift", (activation("x", (2,), Format(8), Scale.of(-3)),), {"norm": "shift"}, exhaustive=True)
    for n in (2, 16, 64):
        for order in ORDERS:
            yield Case(
                f"n{n}-{order}", (activation("x", (3, n), Format(8), Scale.of(-5)),), {"order": order, "norm": "shift"}
            )
    x = activation("x", (2, 8), Format(8), Scale.of(-4))
    yield Case("inverse", (x,), {"norm": "shift", "inverse": 1})
    yield Case("blocks", (activation("x", (24,), Format(8)),), {"block": 8, "order": "sequency"})
    yield Case("ortho", (activation("x", (16,), Format(12, False), Scale.of(-2)),), {"norm": "ortho"})
    yield Case("2d", (activation("x", (3, 4, 8), Format(8)),), {"dims": 2, "norm": "shift"})
    yield Case(
        "2d-square-ortho", (activation("x", (8, 8), Format(8)),), {"dims": 2, "norm": "ortho", "order": "sequency"}
    )
    yield Case("2d-blocks", (activation("x", (2, 8, 12), Format(8)),), {"dims": 2, "block": 4})
    yield Case("wide", (activation("x", (8,), Format(59)),), {})
