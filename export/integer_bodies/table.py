"""table: Gather at the clamped address, which so never leaves the table."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of, bits_of
from mfsim.program import Node


def _ends(node: Node, inputs: Tensors) -> list[int]:
    first = attributes_of(node)["first"]
    return [first, first + inputs[1].shape[0] - 1]


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return dict(zip(("least", "greatest"), _ends(node, inputs), strict=True))


def needs_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return bits_of(*_ends(node, inputs))


BODY = IntegerBody(
    text="""
  raised = Max(x, least)
  clamped = Min(raised, greatest)
  address = Sub(clamped, least)
  y = Gather<axis: int = 0>(table, address)
""",
    extra={"least": CODE, "greatest": CODE},
    derived=derived,
    needs_bits=needs_bits,
)
