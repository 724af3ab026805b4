"""tanh_l1: terms by Gather, their sum, and a rounded quotient with the sign of each entry."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, Tensors
from mfsim.export.integer_bodies.normalisers import tanh_l1
from mfsim.export.integer_bodies.softmax import divisor_bits
from mfsim.program import Node

TEXT = """
  numerator = Add(scaled, s)
  divisor = Add(s, s)
  magnitude = Div(numerator, divisor)
"""


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {}


BODY = tanh_l1(TEXT, [], derived, divisor_bits)
