"""concat: Concat, then one power of two for each index of the axis brings all parts to the finest grid."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, IntegerBody, Tensors, attributes_of, channelwise
from mfsim.program import Node


def text(count: int) -> str:
    parts = ", ".join(f"x{k}" for k in range(count))
    return f"""
  parts = Concat<axis: int = @axis>({parts})
  y = Mul(parts, gain)
"""


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    axis = attributes_of(node)["axis"]
    gains = [1 << s for x, s in zip(inputs, attributes_of(node)["shifts"], strict=True) for _ in range(x.shape[axis])]
    one = len(set(gains)) == 1
    return {"gain": channelwise(gains[:1] if one else gains, axis, len(outputs[0].shape))}


BODY = IntegerBody(text=text, extra={"gain": CODE}, derived=derived)
