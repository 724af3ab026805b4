"""max_pool2d: ReduceMax over all windows of planes that are padded with the lowest possible code."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.export.integer_bodies.windows import PLANES_TEXT, WINDOW_EXTRA, window_inputs
from mfsim.program import Node

TEXT = (
    PLANES_TEXT
    + """
  windows = Gather<axis: int = 2>(planes, taps)
  taps_axis = Constant<value_ints: ints = [2]>()
  greatest = ReduceMax<keepdims: int = 0>(windows, taps_axis)
  y = Reshape(greatest, shape)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), (y,) = inputs, outputs
    return window_inputs(x, y, attributes_of(node)["kernel"], attributes_of(node), x.range.low) | {
        "shape": target(y.shape)
    }


BODY = IntegerBody(text=TEXT, extra={**WINDOW_EXTRA, "shape": SHAPE}, derived=derived)
