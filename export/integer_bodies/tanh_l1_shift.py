"""tanh_l1_shift: terms by Gather, the thresholds that their sum reaches, and a rounding shift for each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors
from mfsim.export.integer_bodies.normalisers import COUNT, shifts, tanh_l1
from mfsim.program import Node

TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  numerator = Add(scaled, half)
  magnitude = Div(numerator, gap)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return shifts(inputs, [k + 1 for k in range(inputs[2].shape[0] + 1)])


BODY = tanh_l1(TEXT, ["counted", "gaps", "halves"], derived)
