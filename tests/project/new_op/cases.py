"""Conformance cases of half_step."""

from __future__ import annotations

from mfsim.ir.formats import Format, Scale
from mfsim.ops.op import Case, activation


def cases_half_step():
    yield Case("s8", (activation("x", (1,), Format(8), Scale.of(-4)),), exhaustive=True)
    yield Case("u5", (activation("x", (1,), Format(5, False)),), exhaustive=True)
    yield Case("s20-plane", (activation("x", (2, 3, 4), Format(20), Scale.of(-2)),))
