"""clip: Max with the lower bound, then Min with the upper one."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"low": attributes_of(node)["lo"], "high": attributes_of(node)["hi"]}


BODY = IntegerBody(
    text="""
  raised = Max(x, low)
  y = Min(raised, high)
""",
    extra={"low": CODE, "high": CODE},
    derived=derived,
)
