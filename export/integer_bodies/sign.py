"""sign: Sign, and `sign_zero` for the code 0."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"zero_sign": attributes_of(node)["sign_zero"]}


BODY = IntegerBody(
    text="""
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  is_zero = Equal(x, zero)
  sign = Sign(x)
  y = Where(is_zero, zero_sign, sign)
""",
    extra={"zero_sign": CODE},
    derived=derived,
)
