"""gain: relabels the scale; the codes stay."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Identity(x)
"""
)
