"""Bodies of the elementwise ops in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of

# SoftThreshold: sign(x) max(|x| - t, 0), t >= 0. Definition: mfsim/ops/elementwise/soft_threshold.py.

SOFT_THRESHOLD = """
<opset_import: ["" : 20], domain: "org.mfsim">
SoftThreshold (X, T) => (Y) {
    sign = Sign (X)
    magnitude = Abs (X)
    less = Sub (magnitude, T)
    kept = Relu (less)
    Y = Mul (sign, kept)
}
"""

# Shared by add and sub: both operands on the finer grid.

ALIGNMENT_EXTRA = {"gain_a": CODE, "gain_b": CODE}
"""The power of two of each operand."""

ALIGNMENT_TEXT = """
  aligned_a = Mul(a, gain_a)
  aligned_b = Mul(b, gain_b)
"""


def _alignment_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    """Return the derived inputs of a sum of two operands."""
    attributes = attributes_of(node)
    return {"gain_a": 1 << attributes["shift_a"], "gain_b": 1 << attributes["shift_b"]}


# abs: Abs; the word of the result decides the type, so that the least code has a magnitude.

ABS_INTEGER = IntegerBody(
    text="""
  y = Abs(x)
"""
)

# neg: Neg; the word of the result decides the type, so that the least code can be negated.

NEG_INTEGER = IntegerBody(
    text="""
  y = Neg(x)
"""
)


# sign: Sign, and `sign_zero` for the code 0.


def _sign_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"zero_sign": attributes_of(node)["sign_zero"]}


SIGN_INTEGER = IntegerBody(
    text="""
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  is_zero = Equal(x, zero)
  sign = Sign(x)
  y = Where(is_zero, zero_sign, sign)
""",
    extra={"zero_sign": CODE},
    derived=_sign_inputs,
)

# relu: Max with zero (stock Relu has no int64 kernel).

RELU_INTEGER = IntegerBody(
    text="""
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  y = Max(x, zero)
"""
)


# clip: Max with the lower bound, then Min with the upper one.


def _clip_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"low": attributes_of(node)["lo"], "high": attributes_of(node)["hi"]}


CLIP_INTEGER = IntegerBody(
    text="""
  raised = Max(x, low)
  y = Min(raised, high)
""",
    extra={"low": CODE, "high": CODE},
    derived=_clip_inputs,
)

# add: Add of the aligned operands.

ADD_TEXT = (
    ALIGNMENT_TEXT
    + """
  y = Add(aligned_a, aligned_b)
"""
)

ADD_INTEGER = IntegerBody(text=ADD_TEXT, extra=ALIGNMENT_EXTRA, derived=_alignment_inputs)

# sub: Sub of the aligned operands.

SUB_TEXT = (
    ALIGNMENT_TEXT
    + """
  y = Sub(aligned_a, aligned_b)
"""
)

SUB_INTEGER = IntegerBody(text=SUB_TEXT, extra=ALIGNMENT_EXTRA, derived=_alignment_inputs)

# mul: Mul; a constant w broadcasts against one sample.

MUL_INTEGER = IntegerBody(
    text="""
  y = Mul(x, w)
"""
)


# soft_threshold: the sign times what the magnitude has beyond the threshold.


def _soft_threshold_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, t = inputs
    behind = len(x.shape) - 1 - attributes_of(node)["axis"] % len(x.shape)
    return {"channels_shape": [*t.shape, *[1] * behind]}


SOFT_THRESHOLD_INTEGER = IntegerBody(
    text="""
  threshold = Reshape(t, channels_shape)
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  magnitude = Abs(x)
  beyond = Sub(magnitude, threshold)
  kept = Max(beyond, zero)
  sign = Sign(x)
  y = Mul(sign, kept)
""",
    extra={"channels_shape": SHAPE},
    derived=_soft_threshold_inputs,
)

MODEL_BODIES = {
    "soft_threshold": (SOFT_THRESHOLD,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "abs": ABS_INTEGER,
    "neg": NEG_INTEGER,
    "sign": SIGN_INTEGER,
    "relu": RELU_INTEGER,
    "clip": CLIP_INTEGER,
    "add": ADD_INTEGER,
    "sub": SUB_INTEGER,
    "mul": MUL_INTEGER,
    "soft_threshold": SOFT_THRESHOLD_INTEGER,
}
"""By op, its body in integer.onnx."""
