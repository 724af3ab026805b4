"""Bodies of the AdderNet and min-type products in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

import math

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, target
from mfsim.ops.onnx_windows import CONVOLUTION_EXTRA, PLANES_TEXT, columns_text, convolution_inputs

# What the bodies of the products on one grid share, as ONNX text. Definition: mfsim/ops/distance/definition.py.
#
# A term reads `a` and `b`, broadcast against each other, and writes `t`, which is then summed. All terms of
# an output are held at once: outputs times terms numbers for each position.

ADDER_TERM = """
    d = Sub (a, b)
    m = Abs (d)
    t = Neg (m)
"""
"""t = -|a - b|."""

MIN_TERM = """
    s = Sign (b)
    p = Mul (a, s)
    m = Abs (b)
    n = Neg (m)
    raised = Max (p, n)
    t = Min (raised, m)
"""
"""t = sign(a b) min(|a|, |b|): a sign(b), clipped to -|b|..|b|."""


def _matrix_body(name: str, term: str) -> str:
    """Return the body of a matrix product of X [..., K] and W [..., K, O]."""
    return f"""
<opset_import: ["" : 20], domain: "org.mfsim">
{name} (X, W) => (Y) {{
    last = Constant <value_ints = [-1]> ()
    inner = Constant <value_ints = [-2]> ()
    outer = Constant <value_ints = [-3]> ()
    a = Unsqueeze (X, last)
    b = Unsqueeze (W, outer)
    {term}
    Y = ReduceSum <keepdims = 0> (t, inner)
}}
"""


def _convolution_body(name: str, term: str) -> str:
    """Return the body of a convolution.

    The windows of the padded X are gathered by a convolution with ones and zeros, which is exact.
    """
    return f"""
<opset_import: ["" : 20], domain: "org.mfsim">
{name} <strides, pads, dilations, group> (X, W) => (Y) {{
    sides = Constant <value_ints: ints = @pads> ()
    none = Constant <value_ints = [0, 0]> ()
    before, after = Split <axis = 0, num_outputs = 2> (sides)
    all_sides = Concat <axis = 0> (none, before, none, after)
    P = Pad (X, all_sides)
    batch = Constant <value_ints = [0]> ()
    one = Constant <value_ints = [1]> ()
    third = Constant <value_ints = [3]> ()
    groups_int = Constant <value_int: int = @group> ()
    groups = Reshape (groups_int, one)
    outputs = Shape <start = 0, end = 1> (W)
    window = Shape <start = 1> (W)
    terms = ReduceProd (window)
    square = Concat <axis = 0> (terms, terms)
    empty = ConstantOfShape (square)
    eye = EyeLike (empty)
    taps_shape = Concat <axis = 0> (terms, window)
    taps = Reshape (eye, taps_shape)
    repeats = Concat <axis = 0> (groups, one, one, one)
    all_taps_single = Tile (taps, repeats)
    all_taps = CastLike (all_taps_single, X)
    columns = Conv <strides: ints = @strides, dilations: ints = @dilations, group: int = @group> (P, all_taps)
    plane = Shape <start = 2> (columns)
    a_shape = Concat <axis = 0> (batch, groups, one, terms, plane)
    a = Reshape (columns, a_shape)
    each = Div (outputs, groups)
    b_shape = Concat <axis = 0> (one, groups, each, terms, one, one)
    b = Reshape (W, b_shape)
    {term}
    sums = ReduceSum <keepdims = 0> (t, third)
    y_shape = Concat <axis = 0> (batch, outputs, plane)
    Y = Reshape (sums, y_shape)
}}
"""


# AdderMatMul: matrix product with -|x - w|. Definition: mfsim/ops/distance/adder_matmul.py.

ADDER_MATMUL = _matrix_body("AdderMatMul", ADDER_TERM)

# AdderConv: 2-D convolution with -|x - w|. Definition: mfsim/ops/distance/adder_conv2d.py.

ADDER_CONV2D = _convolution_body("AdderConv", ADDER_TERM)

# MinMatMul: matrix product with sign(x w) min(|x|, |w|). Definition: mfsim/ops/distance/min_matmul.py.

MIN_MATMUL = _matrix_body("MinMatMul", MIN_TERM)

# MinConv: 2-D convolution with sign(x w) min(|x|, |w|). Definition: mfsim/ops/distance/min_conv2d.py.

MIN_CONV2D = _convolution_body("MinConv", MIN_TERM)

# Shared by the products on one grid: alignment, terms, and their sums.
#
# A term reads `a` and `b`, broadcast against each other, and writes `t` with its terms on the axis before
# the last one, where one MatMul with a row of ones adds them.

ALIGNED_EXTRA = {"gain_x": CODE, "gain_w": CODE, "ones": CODE}
"""The powers of two of both operands, and the row that adds the terms."""

ADDER_INTEGER_TERM = """
  difference = Sub(a, b)
  distance = Abs(difference)
  t = Neg(distance)
"""

MIN_INTEGER_TERM = """
  sign_a = Sign(a)
  sign_b = Sign(b)
  size_a = Abs(a)
  size_b = Abs(b)
  size = Min(size_a, size_b)
  sign = Mul(sign_a, sign_b)
  t = Mul(sign, size)
"""

MATRIX_EXTRA = {**ALIGNED_EXTRA, "last": SHAPE, "outer": SHAPE, "shape": SHAPE}

CONVOLUTION_ALIGNED_EXTRA = {**CONVOLUTION_EXTRA, **ALIGNED_EXTRA, "windows_shape": SHAPE, "columns_axis": SHAPE}


def _matrix_text(term: str) -> str:
    """Return the statements of a matrix product."""
    return (
        """
  aligned_x = Mul(x, gain_x)
  aligned_w = Mul(w, gain_w)
  a = Unsqueeze(aligned_x, last)
  b = Unsqueeze(aligned_w, outer)
"""
        + term
        + """
  rows = MatMul(ones, t)
  sums = Reshape(rows, shape)
  y = Add(sums, bias)
"""
    )


def _convolution_text(term: str) -> str:
    """Return the statements of a convolution."""
    return (
        PLANES_TEXT
        + columns_text("planes", "columns")
        + """
  aligned_x = Mul(columns, gain_x)
  a = Reshape(aligned_x, windows_shape)
  aligned_w = Mul(w, gain_w)
  weights = Reshape(aligned_w, weights_shape)
  b = Unsqueeze(weights, columns_axis)
"""
        + term
        + """
  rows = MatMul(ones, t)
  sums = Reshape(rows, shape)
  start = Reshape(bias, channels_shape)
  y = Add(sums, start)
"""
    )


def _aligned_inputs(node: Node, length: int) -> Arrays:
    attributes = attributes_of(node)
    return {"gain_x": 1 << attributes["shift_x"], "gain_w": 1 << attributes["shift_w"], "ones": [[1] * length]}


def _matrix_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a matrix product."""
    shapes = {"last": [-1], "outer": [-3], "shape": target(outputs[0].shape)}
    return {"bias": [0], **_aligned_inputs(node, inputs[1].shape[-2]), **shapes}


def _convolution_aligned_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a convolution."""
    terms, positions = math.prod(inputs[1].shape[1:]), math.prod(outputs[0].shape[2:])
    return {
        **convolution_inputs(node, inputs, outputs),
        **_aligned_inputs(node, terms),
        "windows_shape": [0, attributes_of(node)["groups"], 1, terms, positions],
        "columns_axis": [-1],
    }


# adder_matmul: minus the sum of magnitudes of differences.

ADDER_MATMUL_INTEGER = IntegerBody(text=_matrix_text(ADDER_INTEGER_TERM), extra=MATRIX_EXTRA, derived=_matrix_inputs)

# adder_conv2d: minus the sum of magnitudes of differences, over all windows.

ADDER_CONV2D_INTEGER = IntegerBody(
    text=_convolution_text(ADDER_INTEGER_TERM), extra=CONVOLUTION_ALIGNED_EXTRA, derived=_convolution_aligned_inputs
)

# min_matmul: the sum of signed lesser magnitudes.

MIN_MATMUL_INTEGER = IntegerBody(text=_matrix_text(MIN_INTEGER_TERM), extra=MATRIX_EXTRA, derived=_matrix_inputs)

# min_conv2d: the sum of signed lesser magnitudes, over all windows.

MIN_CONV2D_INTEGER = IntegerBody(
    text=_convolution_text(MIN_INTEGER_TERM), extra=CONVOLUTION_ALIGNED_EXTRA, derived=_convolution_aligned_inputs
)

MODEL_BODIES = {
    "adder_matmul": (ADDER_MATMUL,),
    "adder_conv2d": (ADDER_CONV2D,),
    "min_matmul": (MIN_MATMUL,),
    "min_conv2d": (MIN_CONV2D,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "adder_matmul": ADDER_MATMUL_INTEGER,
    "adder_conv2d": ADDER_CONV2D_INTEGER,
    "min_matmul": MIN_MATMUL_INTEGER,
    "min_conv2d": MIN_CONV2D_INTEGER,
}
"""By op, its body in integer.onnx."""
