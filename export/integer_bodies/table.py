"""table: Gather at the clamped address, which so never leaves the table."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    first = attributes_of(node)["first"]
    return {"least": first, "greatest": first + inputs[1].shape[0] - 1}


BODY = IntegerBody(
    text="""
  raised = Max(x, least)
  clamped = Min(raised, greatest)
  address = Sub(clamped, least)
  y = Gather<axis: int = 0>(table, address)
""",
    extra={"least": CODE, "greatest": CODE},
    derived=derived,
)
