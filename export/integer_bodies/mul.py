"""mul: Mul; a constant w broadcasts against one sample."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Mul(x, w)
"""
)
