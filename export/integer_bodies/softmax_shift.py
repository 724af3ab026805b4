"""softmax_shift: terms by Gather, the thresholds that their sum reaches, and a rounding shift for each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors, attributes_of
from mfsim.export.integer_bodies.normalisers import COUNT, shifts, softmax
from mfsim.program import Node

TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  raised = Add(t, half)
  y = Div(raised, gap)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    reached = range(inputs[2].shape[0] + 1)
    return shifts(inputs, [k - attributes_of(node)["fraction"] for k in reached])


BODY = softmax(TEXT, ["counted", "gaps", "halves"], derived)
