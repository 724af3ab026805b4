"""pad: the standard Pad with a constant code."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"places": attributes_of(node)["pads"], "padding": attributes_of(node)["value"]}


BODY = IntegerBody(
    text="""
  y = Pad(x, places, padding)
""",
    extra={"places": SHAPE, "padding": CODE},
    derived=derived,
)
