"""table: Gather at the clamped address, which so never leaves the table."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, IntegerBody, bits_of


def derived(node, inputs, outputs):
    first = node.attributes["first"]
    return {"least": first, "greatest": first + inputs[1].shape[0] - 1}


def needs_bits(node, inputs, outputs):
    return bits_of(*derived(node, inputs, outputs).values())


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
