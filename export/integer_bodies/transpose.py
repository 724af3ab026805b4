"""transpose: the standard Transpose."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Transpose<perm: ints = @perm>(x)
"""
)
