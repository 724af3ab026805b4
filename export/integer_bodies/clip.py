"""clip: Max with the lower bound, then Min with the upper one."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, IntegerBody, bits_of


def derived(node, inputs, outputs):
    return {"low": node.attributes["lo"], "high": node.attributes["hi"]}


def needs_bits(node, inputs, outputs):
    return bits_of(node.attributes["lo"], node.attributes["hi"])


BODY = IntegerBody(
    text="""
  raised = Max(x, low)
  y = Min(raised, high)
""",
    extra={"low": CODE, "high": CODE},
    derived=derived,
    needs_bits=needs_bits,
)
