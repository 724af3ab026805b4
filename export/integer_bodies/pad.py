"""pad: the standard Pad with a constant code."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, SHAPE, IntegerBody, bits_of


def derived(node, inputs, outputs):
    return {"places": node.attributes["pads"], "padding": node.attributes["value"]}


def needs_bits(node, inputs, outputs):
    return bits_of(node.attributes["value"])


BODY = IntegerBody(
    text="""
  y = Pad(x, places, padding)
""",
    extra={"places": SHAPE, "padding": CODE},
    derived=derived,
    needs_bits=needs_bits,
)
