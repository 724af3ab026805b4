"""Shared by add and sub: both operands on the finer grid."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, Tensors, attributes_of
from mfsim.program import Node

ALIGNMENT_EXTRA = {"gain_a": CODE, "gain_b": CODE}
"""The power of two of each operand."""

ALIGNMENT_TEXT = """
  aligned_a = Mul(a, gain_a)
  aligned_b = Mul(b, gain_b)
"""


def alignment_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a sum of two operands."""
    attributes = attributes_of(node)
    return {"gain_a": 1 << attributes["shift_a"], "gain_b": 1 << attributes["shift_b"]}
