"""mf_matmul: two MatMul of signs with operands."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.mf import CONSTANTS_TEXT, JOIN_TEXT, MF_EXTRA, mf_bits, mf_inputs, operand_text
from mfsim.program import Node

TEXT = (
    CONSTANTS_TEXT
    + operand_text("x", "x")
    + operand_text("w", "w")
    + """
  part_x = MatMul(operand_x, sign_w)
  part_w = MatMul(sign_x, operand_w)
"""
    + JOIN_TEXT
    + """
  y = Add(joined, bias)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    ndim = len(outputs[0].shape)
    return {"bias": [0], **mf_inputs(attributes_of(node), ndim - 1, ndim)}


def needs_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return mf_bits(attributes_of(node), inputs, (-2,))


BODY = IntegerBody(text=TEXT, extra=MF_EXTRA, derived=derived, needs_bits=needs_bits)
