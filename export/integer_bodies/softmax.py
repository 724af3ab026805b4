"""softmax: terms by Gather, their sum, and a rounded quotient for each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors, attributes_of
from mfsim.export.integer_bodies.normalisers import softmax
from mfsim.program import Node

TEXT = """
  scaled = Mul(t, up)
  numerator = Add(scaled, s)
  divisor = Add(s, s)
  y = Div(numerator, divisor)
"""


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"up": 2 << attributes_of(node)["fraction"]}


def divisor_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return node.words["sum"].bits + 2  # twice the sum, in a signed word


BODY = softmax(TEXT, ["up"], derived, divisor_bits)
