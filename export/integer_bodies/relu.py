"""relu: Max with zero (stock Relu has no int64 kernel)."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  y = Max(x, zero)
"""
)
