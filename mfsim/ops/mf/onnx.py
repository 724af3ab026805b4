"""Bodies of the multiplication-free products in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, Arrays, IntegerBody, Tensors, attributes_of, bits_of, channelwise, greatest_sum
from mfsim.ops.onnx_text import choices
from mfsim.ops.onnx_windows import CONVOLUTION_EXTRA, PLANES_TEXT, columns_text, convolution_inputs

# What the bodies of the MF products share: the signs and the operands of both forms, as ONNX text.
#
#     y = xa * sign(wa) + sign(x) * wa,   xa = |x|, wa = |w| for the form `abs`, else x, w
#
# `OPERANDS` reads `P` and `W` and writes `xa`, `sx`, `wa`, `sw`. The sign of 0 is the attribute `sign_zero`;
# `grid` changes no real value and is not read. Definition: mfsim/ops/products.py.

OPERANDS = f"""
    origin = Constant <value_ints = [0]> ()
    {choices("form", ("abs",), "origin")}
    zero_int = Constant <value_int: int = @sign_zero> ()
    zero = CastLike (zero_int, P)
    one_int = Constant <value_int = 1> ()
    one = CastLike (one_int, P)
    px = Sign (P)
    mx = Abs (px)
    nx = Sub (one, mx)
    zx = Mul (nx, zero)
    sx = Add (px, zx)
    pw = Sign (W)
    mw = Abs (pw)
    nw = Sub (one, mw)
    zw = Mul (nw, zero)
    sw = Add (pw, zw)
    xa = If (is_abs) <
        then_branch = magnitude_x () => (ax) {{ ax = Abs (P) }},
        else_branch = value_x () => (vx) {{ vx = Identity (P) }}
    >
    wa = If (is_abs) <
        then_branch = magnitude_w () => (aw) {{ aw = Abs (W) }},
        else_branch = value_w () => (vw) {{ vw = Identity (W) }}
    >
"""

# MFMatMul: matrix product with the MF operator. Definition: mfsim/ops/mf/mf_matmul.py.

MF_MATMUL = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFMatMul <form, sign_zero, grid> (X, W) => (Y) {{
    P = Identity (X)
    {OPERANDS}
    x_part = MatMul (xa, sw)
    w_part = MatMul (sx, wa)
    Y = Add (x_part, w_part)
}}
"""

# MFConv: 2-D convolution with the MF operator. Definition: mfsim/ops/mf/mf_conv2d.py.
#
# The padding comes before the operator: with `sign_zero` 1 a padded zero has the sign +1.

MF_CONV2D = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFConv <form, sign_zero, grid, strides, pads, dilations, group> (X, W) => (Y) {{
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    P = Pad (X, all_sides)
    {OPERANDS}
    x_part = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (xa, sw)
    w_part = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (sx, wa)
    Y = Add (x_part, w_part)
}}
"""

# MFMul: the MF operator, element by element, with broadcasting. Definition: mfsim/ops/mf/mf_mul.py.

MF_MUL = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFMul <form, sign_zero, grid> (X, W) => (Y) {{
    P = Identity (X)
    {OPERANDS}
    x_part = Mul (xa, sw)
    w_part = Mul (sx, wa)
    Y = Add (x_part, w_part)
}}
"""

# Shared by the MF products: signs and operands of both sides, and the joined sum.
#
# sum sign(w) x' + sum sign(x) w' with x' = x or |x|, on the finer grid: two MatMul (or Mul) on codes, a
# Mul by the powers of two `gain_x` and `gain_w`, and Add. The product serves both forms, both signs of
# zero and every grid: on the grid `aligned` too the powers of two may stand behind the sums.

MF_EXTRA = {"sign_zero": CODE, "magnitude": CODE, "gain_x": CODE, "gain_w": CODE}
"""The sign of 0, 1 for the form `abs`, and the powers of two of both parts."""

CONSTANTS_TEXT = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  takes_magnitude = Greater(magnitude, zero)
"""

JOIN_TEXT = """
  on_grid_x = Mul(part_x, gain_x)
  on_grid_w = Mul(part_w, gain_w)
  joined = Add(on_grid_x, on_grid_w)
"""
"""From `part_x` and `part_w` to `joined`."""


def _operand_text(source: str, name: str) -> str:
    """Return statements from the codes `source` to `sign_<name>` and `operand_<name>`."""
    return f"""
  plain_sign_{name} = Sign({source})
  is_zero_{name} = Equal({source}, zero)
  sign_{name} = Where(is_zero_{name}, sign_zero, plain_sign_{name})
  size_{name} = Abs({source})
  operand_{name} = Where(takes_magnitude, size_{name}, {source})
"""


def _mf_inputs(attributes: Mapping[str, Any], channel_axis: int, ndim: int) -> Arrays:
    """Return the derived inputs of an MF product whose output has its channels on `channel_axis` of `ndim`."""
    return {
        "sign_zero": attributes["sign_zero"],
        "magnitude": int(attributes["form"] == "abs"),
        "gain_x": channelwise([1 << s for s in attributes["shift_x"]], channel_axis, ndim),
        "gain_w": channelwise([1 << s for s in attributes["shift_w"]], channel_axis, ndim),
    }


def _mf_bits(attributes: Mapping[str, Any], inputs: Tensors, axes: tuple[int, ...]) -> int:
    """Return the bits that hold both parts, shifted, and their sum, for terms that are summed along `axes` of w."""
    x, w, *bias = inputs
    length = math.prod(w.shape[axis] for axis in axes)
    part_x = length * x.range.bound << max(attributes["shift_x"])
    part_w = greatest_sum(w, axes) << max(attributes["shift_w"])
    bits = bits_of(part_x + part_w + sum(b.range.bound for b in bias))
    return min(bits, 64)  # int64 wraps around modulo 2**64, and the joined sum is proved to fit


# mf_matmul: two MatMul of signs with operands.

MF_MATMUL_TEXT = (
    CONSTANTS_TEXT
    + _operand_text("x", "x")
    + _operand_text("w", "w")
    + """
  part_x = MatMul(operand_x, sign_w)
  part_w = MatMul(sign_x, operand_w)
"""
    + JOIN_TEXT
    + """
  y = Add(joined, bias)
"""
)


def _mf_matmul_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    ndim = len(outputs[0].shape)
    return {"bias": [0], **_mf_inputs(attributes_of(node), ndim - 1, ndim)}


def _mf_matmul_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return _mf_bits(attributes_of(node), inputs, (-2,))


MF_MATMUL_INTEGER = IntegerBody(
    text=MF_MATMUL_TEXT, extra=MF_EXTRA, derived=_mf_matmul_inputs, needs_bits=_mf_matmul_bits
)

# mf_conv2d: two MatMul of signs with operands, taken over all windows.
#
# Padding comes first, signs after: a padded code 0 has the sign that `sign_zero` says.

MF_CONV2D_TEXT = (
    CONSTANTS_TEXT
    + PLANES_TEXT
    + _operand_text("planes", "x")
    + columns_text("sign_x", "signs")
    + columns_text("operand_x", "operands")
    + """
  weights = Reshape(w, weights_shape)
"""
    + _operand_text("weights", "w")
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


def _mf_conv2d_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return convolution_inputs(node, inputs, outputs) | _mf_inputs(attributes_of(node), 1, 4)


def _mf_conv2d_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return _mf_bits(attributes_of(node), inputs, (1, 2, 3))


MF_CONV2D_INTEGER = IntegerBody(
    text=MF_CONV2D_TEXT, extra={**CONVOLUTION_EXTRA, **MF_EXTRA}, derived=_mf_conv2d_inputs, needs_bits=_mf_conv2d_bits
)

# mf_mul: element by element, sign times operand; a constant w broadcasts against one sample.

MF_MUL_TEXT = (
    CONSTANTS_TEXT
    + _operand_text("x", "x")
    + _operand_text("w", "w")
    + """
  part_x = Mul(operand_x, sign_w)
  part_w = Mul(sign_x, operand_w)
"""
    + JOIN_TEXT
    + """
  y = Identity(joined)
"""
)


def _mf_mul_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    ndim = len(outputs[0].shape)
    return _mf_inputs(attributes_of(node), ndim - 1, ndim)


def _mf_mul_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return _mf_bits(attributes_of(node), inputs, ())


MF_MUL_INTEGER = IntegerBody(text=MF_MUL_TEXT, extra=MF_EXTRA, derived=_mf_mul_inputs, needs_bits=_mf_mul_bits)

MODEL_BODIES = {
    "mf_matmul": (MF_MATMUL,),
    "mf_conv2d": (MF_CONV2D,),
    "mf_mul": (MF_MUL,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "mf_matmul": MF_MATMUL_INTEGER,
    "mf_conv2d": MF_CONV2D_INTEGER,
    "mf_mul": MF_MUL_INTEGER,
}
"""By op, its body in integer.onnx."""
