"""Shared by add and sub: both operands on the finer grid."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import CODE, Arrays, bits_of, sum_bits

ALIGNMENT_EXTRA = {"gain_a": CODE, "gain_b": CODE}
"""The power of two of each operand."""

ALIGNMENT_TEXT = """
  aligned_a = Mul(a, gain_a)
  aligned_b = Mul(b, gain_b)
"""


def alignment_inputs(node, inputs, outputs) -> Arrays:
    """Return the derived inputs of a sum of two operands."""
    return {"gain_a": 1 << node.attributes["shift_a"], "gain_b": 1 << node.attributes["shift_b"]}


def alignment_bits(node, inputs, outputs) -> int:
    """Return the bits that hold both aligned operands and their powers of two."""
    gains = alignment_inputs(node, inputs, outputs).values()
    aligned = sum(tensor.range.bound * gain for tensor, gain in zip(inputs, gains, strict=True))
    return max(bits_of(*gains), sum_bits(aligned))
