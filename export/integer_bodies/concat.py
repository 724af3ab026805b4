"""concat: Concat, then one power of two for each index of the axis brings all parts to the finest grid."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, IntegerBody, bits_of, channelwise


def text(count: int) -> str:
    parts = ", ".join(f"x{k}" for k in range(count))
    return f"""
  parts = Concat<axis: int = @axis>({parts})
  y = Mul(parts, gain)
"""


def derived(node, inputs, outputs):
    axis = node.attributes["axis"]
    gains = [1 << s for x, s in zip(inputs, node.attributes["shifts"], strict=True) for _ in range(x.shape[axis])]
    one = len(set(gains)) == 1
    return {"gain": channelwise(gains[:1] if one else gains, axis, len(outputs[0].shape))}


def needs_bits(node, inputs, outputs):
    return bits_of(*(1 << s for s in node.attributes["shifts"]))


BODY = IntegerBody(text=text, extra={"gain": CODE}, derived=derived, needs_bits=needs_bits)
