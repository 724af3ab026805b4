"""csd_gain: one Mul; the device and the counts know shifts and additions only."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, c = inputs
    behind = len(x.shape) - 1 - attributes_of(node)["axis"] % len(x.shape)
    return {"channels_shape": [*c.shape, *[1] * behind]}


BODY = IntegerBody(
    text="""
  gain = Reshape(c, channels_shape)
  y = Mul(x, gain)
""",
    extra={"channels_shape": SHAPE},
    derived=derived,
)
