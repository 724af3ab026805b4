"""sum_pool2d: a row of ones times all windows (ReduceSum would go through double)."""

from __future__ import annotations

import math

import numpy as np

from mfsim.export.integer_bodies.body import CODE, SHAPE, IntegerBody, sum_bits, target
from mfsim.export.integer_bodies.windows import PLANES_TEXT, WINDOW_EXTRA, window_inputs

TEXT = (
    PLANES_TEXT
    + """
  windows = Gather<axis: int = 2>(planes, taps)
  sums = MatMul(ones, windows)
  y = Reshape(sums, shape)
"""
)


def derived(node, inputs, outputs):
    (x,), (y,), kernel = inputs, outputs, node.attributes["kernel"]
    ones = np.ones((1, math.prod(kernel)), dtype=np.int64)
    return window_inputs(x, y, kernel, node.attributes, 0) | {"ones": ones, "shape": target(y.shape)}


def needs_bits(node, inputs, outputs):
    return sum_bits(math.prod(node.attributes["kernel"]) * inputs[0].range.bound)


BODY = IntegerBody(
    text=TEXT, extra={**WINDOW_EXTRA, "ones": CODE, "shape": SHAPE}, derived=derived, needs_bits=needs_bits
)
