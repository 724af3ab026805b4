"""mf_conv2d: two MatMul of signs with operands, taken over all windows.

Padding comes first, signs after: a padded code 0 has the sign that `sign_zero` says.
"""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.convolution import CONVOLUTION_EXTRA, columns_text, convolution_inputs
from mfsim.export.integer_bodies.mf import CONSTANTS_TEXT, JOIN_TEXT, MF_EXTRA, mf_bits, mf_inputs, operand_text
from mfsim.export.integer_bodies.windows import PLANES_TEXT
from mfsim.program import Node

TEXT = (
    CONSTANTS_TEXT
    + PLANES_TEXT
    + operand_text("planes", "x")
    + columns_text("sign_x", "signs")
    + columns_text("operand_x", "operands")
    + """
  weights = Reshape(w, weights_shape)
"""
    + operand_text("weights", "w")
    + """
  products_x = MatMul(sign_w, operands)
  products_w = MatMul(operand_w, signs)
  part_x = Reshape(products_x, shape)
  part_w = Reshape(products_w, shape)
"""
    + JOIN_TEXT
    + """
  start = Reshape(bias, channels_shape)
  y = Add(joined, start)
"""
)


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return convolution_inputs(node, inputs, outputs) | mf_inputs(attributes_of(node), 1, 4)


def needs_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return mf_bits(attributes_of(node), inputs, (1, 2, 3))


BODY = IntegerBody(text=TEXT, extra={**CONVOLUTION_EXTRA, **MF_EXTRA}, derived=derived, needs_bits=needs_bits)
