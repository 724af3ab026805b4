"""slice: the standard Slice."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, attributes_of
from mfsim.program import Node


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), attributes = inputs, attributes_of(node)
    axes = attributes["axes"]
    # Slice counts a negative end from the back; the end before index 0 has to lie before all of them.
    ends = [end if end >= 0 else -x.shape[axis] - 1 for axis, end in zip(axes, attributes["ends"], strict=True)]
    return {"starts": attributes["starts"], "stops": ends, "places": axes, "strides": attributes["steps"]}


BODY = IntegerBody(
    text="""
  y = Slice(x, starts, stops, places, strides)
""",
    extra={"starts": SHAPE, "stops": SHAPE, "places": SHAPE, "strides": SHAPE},
    derived=derived,
)
