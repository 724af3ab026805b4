"""Shared by add and sub: both operands on the finer grid."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, Tensors, attributes_of, bits_of, sum_bits
from mfsim.program import Node

ALIGNMENT_EXTRA = {"gain_a": CODE, "gain_b": CODE}
"""The power of two of each operand."""

ALIGNMENT_TEXT = """
  aligned_a = Mul(a, gain_a)
  aligned_b = Mul(b, gain_b)
"""


def _gains(node: Node) -> list[int]:
    attributes = attributes_of(node)
    return [1 << attributes["shift_a"], 1 << attributes["shift_b"]]


def alignment_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a sum of two operands."""
    return dict(zip(ALIGNMENT_EXTRA, _gains(node), strict=True))


def alignment_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    """Return the bits that hold both aligned operands and their powers of two."""
    gains = _gains(node)
    aligned = sum(tensor.range.bound * gain for tensor, gain in zip(inputs, gains, strict=True))
    return max(bits_of(*gains), sum_bits(aligned))
