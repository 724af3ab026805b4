"""reshape: the standard Reshape, whatever the batch."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, IntegerBody, target


def derived(node, inputs, outputs):
    return {"target": target(outputs[0].shape)}


BODY = IntegerBody(
    text="""
  y = Reshape(x, target)
""",
    extra={"target": SHAPE},
    derived=derived,
)
