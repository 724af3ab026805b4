"""soft_threshold: the sign times what the magnitude has beyond the threshold."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, t = inputs
    behind = len(x.shape) - 1 - attributes_of(node)["axis"] % len(x.shape)
    return {"channels_shape": [*t.shape, *[1] * behind]}


BODY = IntegerBody(
    text="""
  threshold = Reshape(t, channels_shape)
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  magnitude = Abs(x)
  beyond = Sub(magnitude, threshold)
  kept = Max(beyond, zero)
  sign = Sign(x)
  y = Mul(sign, kept)
""",
    extra={"channels_shape": SHAPE},
    derived=derived,
)
