"""mf_mul: element by element, sign times operand; a constant w broadcasts against one sample."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.mf import CONSTANTS_TEXT, JOIN_TEXT, MF_EXTRA, mf_bits, mf_inputs, operand_text
from mfsim.program import Node

TEXT = (
    CONSTANTS_TEXT
    + operand_text("x", "x")
    + operand_text("w", "w")
    + """
  part_x = Mul(operand_x, sign_w)
  part_w = Mul(sign_x, operand_w)
"""
    + JOIN_TEXT
    + """
  y = Identity(joined)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    ndim = len(outputs[0].shape)
    return mf_inputs(attributes_of(node), ndim - 1, ndim)


def needs_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return mf_bits(attributes_of(node), inputs, ())


BODY = IntegerBody(text=TEXT, extra=MF_EXTRA, derived=derived, needs_bits=needs_bits)
