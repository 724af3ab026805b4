"""reshape: the standard Reshape, whatever the batch."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, target
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"target": target(outputs[0].shape)}


BODY = IntegerBody(
    text="""
  y = Reshape(x, target)
""",
    extra={"target": SHAPE},
    derived=derived,
)
