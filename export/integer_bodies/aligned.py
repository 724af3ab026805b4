"""Shared by the products on one grid: alignment, terms, and their sums.

A term reads `a` and `b`, broadcast against each other, and writes `t` with its terms on the axis before
the last one, where one MatMul with a row of ones adds them.
"""

from __future__ import annotations

import math

from mfsim.export.integer_bodies.body import CODE, SHAPE, Arrays, Tensors, attributes_of, target
from mfsim.export.integer_bodies.convolution import CONVOLUTION_EXTRA, columns_text, convolution_inputs
from mfsim.export.integer_bodies.windows import PLANES_TEXT
from mfsim.program import Node

ALIGNED_EXTRA = {"gain_x": CODE, "gain_w": CODE, "ones": CODE}
"""The powers of two of both operands, and the row that adds the terms."""

ADDER = """
  difference = Sub(a, b)
  distance = Abs(difference)
  t = Neg(distance)
"""

MIN = """
  sign_a = Sign(a)
  sign_b = Sign(b)
  size_a = Abs(a)
  size_b = Abs(b)
  size = Min(size_a, size_b)
  sign = Mul(sign_a, sign_b)
  t = Mul(sign, size)
"""

MATRIX_EXTRA = {**ALIGNED_EXTRA, "last": SHAPE, "outer": SHAPE, "shape": SHAPE}
CONVOLUTION_ALIGNED_EXTRA = {**CONVOLUTION_EXTRA, **ALIGNED_EXTRA, "windows_shape": SHAPE, "columns_axis": SHAPE}


def matrix_text(term: str) -> str:
    """Return the statements of a matrix product."""
    return (
        """
  aligned_x = Mul(x, gain_x)
  aligned_w = Mul(w, gain_w)
  a = Unsqueeze(aligned_x, last)
  b = Unsqueeze(aligned_w, outer)
"""
        + term
        + """
  rows = MatMul(ones, t)
  sums = Reshape(rows, shape)
  y = Add(sums, bias)
"""
    )


def convolution_text(term: str) -> str:
    """Return the statements of a convolution."""
    return (
        PLANES_TEXT
        + columns_text("planes", "columns")
        + """
  aligned_x = Mul(columns, gain_x)
  a = Reshape(aligned_x, windows_shape)
  aligned_w = Mul(w, gain_w)
  weights = Reshape(aligned_w, weights_shape)
  b = Unsqueeze(weights, columns_axis)
"""
        + term
        + """
  rows = MatMul(ones, t)
  sums = Reshape(rows, shape)
  start = Reshape(bias, channels_shape)
  y = Add(sums, start)
"""
    )


def _aligned_inputs(node: Node, length: int) -> Arrays:
    attributes = attributes_of(node)
    return {"gain_x": 1 << attributes["shift_x"], "gain_w": 1 << attributes["shift_w"], "ones": [[1] * length]}


def matrix_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a matrix product."""
    shapes = {"last": [-1], "outer": [-3], "shape": target(outputs[0].shape)}
    return {"bias": [0], **_aligned_inputs(node, inputs[1].shape[-2]), **shapes}


def convolution_aligned_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a convolution."""
    terms, positions = math.prod(inputs[1].shape[1:]), math.prod(outputs[0].shape[2:])
    return {
        **convolution_inputs(node, inputs, outputs),
        **_aligned_inputs(node, terms),
        "windows_shape": [0, attributes_of(node)["groups"], 1, terms, positions],
        "columns_axis": [-1],
    }
