"""softmax_recip: terms by Gather, their sum, its reciprocal, and a rounded product for each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors, attributes_of
from mfsim.export.integer_bodies.normalisers import softmax
from mfsim.program import Node

TEXT = """
  inverse = Div(power, s)
  product = Mul(t, inverse)
  raised = Add(product, half)
  y = Div(raised, gap)
"""


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes = attributes_of(node)
    gap = 1 << attributes["reciprocal"] - attributes["fraction"]
    return {"power": 1 << attributes["reciprocal"], "gap": gap, "half": gap // 2}


BODY = softmax(TEXT, ["power", "gap", "half"], derived)
