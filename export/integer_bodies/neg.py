"""neg: Neg; the word of the result decides the type, so that the least code can be negated."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Neg(x)
"""
)
