"""flatten: the standard Flatten behind the batch."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Flatten<axis: int = 1>(x)
"""
)
