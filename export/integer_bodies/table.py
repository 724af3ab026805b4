"""table: Gather at the clamped address, which so never leaves the table."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, IntegerBody, bits_of


def derived(node, inputs, outputs):
    return {"least": node.attributes["first"], "last": inputs[1].shape[0] - 1}


def needs_bits(node, inputs, outputs):
    (x, table), first = inputs, node.attributes["first"]
    return bits_of(first, x.range.low - first, x.range.high - first, table.shape[0] - 1)


BODY = IntegerBody(
    text="""
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  address = Sub(x, least)
  raised = Max(address, zero)
  clamped = Min(raised, last)
  y = Gather<axis: int = 0>(table, clamped)
""",
    extra={"least": CODE, "last": CODE},
    derived=derived,
    needs_bits=needs_bits,
)
