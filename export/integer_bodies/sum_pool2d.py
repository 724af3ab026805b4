"""sum_pool2d: a row of ones times all windows (ReduceSum would go through double)."""

from __future__ import annotations

import math

import numpy as np

from mfsim.export.integer_bodies.body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.export.integer_bodies.windows import PLANES_TEXT, WINDOW_EXTRA, window_inputs
from mfsim.program import Node

TEXT = (
    PLANES_TEXT
    + """
  windows = Gather<axis: int = 2>(planes, taps)
  sums = MatMul(ones, windows)
  y = Reshape(sums, shape)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,), (y,), kernel = inputs, outputs, attributes_of(node)["kernel"]
    ones = np.ones((1, math.prod(kernel)), dtype=np.int64)
    return window_inputs(x, y, kernel, attributes_of(node), 0) | {"ones": ones, "shape": target(y.shape)}


BODY = IntegerBody(text=TEXT, extra={**WINDOW_EXTRA, "ones": CODE, "shape": SHAPE}, derived=derived)
