"""Bodies of the pools in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

import math

import numpy as np

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.ops.onnx_windows import PLANES_TEXT, WINDOW_EXTRA, window_inputs

# SumPool: sum of each window divided by its area, a power of two. Definition: mfsim/ops/pool/sum_pool2d.py.
#
# Padded zeros count as values, so the divisor is the same everywhere. They are put there first, because
# ONNX Runtime takes no padding as wide as the kernel in a pooling node.

SUM_POOL2D = """
<opset_import: ["" : 20], domain: "org.mfsim">
SumPool <kernel_shape, strides, pads> (X) => (Y) {
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    padded = Pad (X, all_sides)
    Y = AveragePool <kernel_shape: ints = @kernel_shape, strides: ints = @strides> (padded)
}
"""

# max_pool2d: ReduceMax over all windows of planes that are padded with the lowest possible code.

MAX_POOL2D_TEXT = (
    PLANES_TEXT
    + """
  windows = Gather<axis: int = 2>(planes, taps)
  taps_axis = Constant<value_ints: ints = [2]>()
  greatest = ReduceMax<keepdims: int = 0>(windows, taps_axis)
  y = Reshape(greatest, shape)
"""
)


def _max_pool2d_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), (y,) = inputs, outputs
    return window_inputs(x, y, attributes_of(node)["kernel"], attributes_of(node), x.range.low) | {
        "shape": target(y.shape)
    }


MAX_POOL2D_INTEGER = IntegerBody(
    text=MAX_POOL2D_TEXT, extra={**WINDOW_EXTRA, "shape": SHAPE}, derived=_max_pool2d_inputs
)

# sum_pool2d: a row of ones times all windows (ReduceSum would go through double).

SUM_POOL2D_TEXT = (
    PLANES_TEXT
    + """
  windows = Gather<axis: int = 2>(planes, taps)
  sums = MatMul(ones, windows)
  y = Reshape(sums, shape)
"""
)


def _sum_pool2d_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), (y,), kernel = inputs, outputs, attributes_of(node)["kernel"]
    ones = np.ones((1, math.prod(kernel)), dtype=np.int64)
    return window_inputs(x, y, kernel, attributes_of(node), 0) | {"ones": ones, "shape": target(y.shape)}


SUM_POOL2D_INTEGER = IntegerBody(
    text=SUM_POOL2D_TEXT, extra={**WINDOW_EXTRA, "ones": CODE, "shape": SHAPE}, derived=_sum_pool2d_inputs
)

MODEL_BODIES = {
    "sum_pool2d": (SUM_POOL2D,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "max_pool2d": MAX_POOL2D_INTEGER,
    "sum_pool2d": SUM_POOL2D_INTEGER,
}
"""By op, its body in integer.onnx."""
