"""abs: Abs; the word of the result decides the type, so that the least code has a magnitude."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Abs(x)
"""
)
