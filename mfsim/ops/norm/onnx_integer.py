"""Bodies of the norms in integer.onnx, as ONNX text."""

from __future__ import annotations

import numpy as np

from mfsim.ir.program import Node, Tensor
from mfsim.ops.integer_body import CODE, Arrays, IntegerBody, Tensors, attributes_of, bits_of
from mfsim.ops.norm.shift_norms import places
from mfsim.ops.norm.tables import GAIN_PLACES
from mfsim.ops.onnx_text import root_text

# Pieces of the integer bodies that the norms share: sums by products with ones, an integer root in 31 steps.
#
# The root is found bit by bit, without a float: a bit stays where the square is at most the radicand.


CENTRE = """
  s = MatMul(x, ones)
  nq = Mul(x, length)
  c = Sub(nq, s)
"""

SQUARES = """
  q2 = Mul(x, x)
  s2 = MatMul(q2, ones)
  ns2 = Mul(s2, length)
"""

SPREAD = (
    SQUARES
    + """
  ss = Mul(s, s)
  v = Sub(ns2, ss)
"""
)


def _root_norm_text(centred: bool, reciprocal: bool) -> str:
    codes, variation = ("c", "v") if centred else ("nq", "ns2")
    sums = CENTRE + SPREAD if centred else "\n  nq = Mul(x, length)" + SQUARES
    quotient = (
        """
  inverse = Div(power, d)
  product = Mul(scaled_up, inverse)
  raised = Add(product, half)
  magnitude = Div(raised, divisor)
"""
        if reciprocal
        else """
  denominator = Mul(d, down)
  twice = Mul(scaled_up, two)
  raised = Add(twice, denominator)
  divisor = Mul(denominator, two)
  magnitude = Div(raised, divisor)
"""
    )
    return (
        sums
        + f"""
  guarded = Mul({variation}, guard2)
  w = Add(guarded, eps_code)"""
        + root_text()
        + f"""
  one64 = Constant<value_int: int = 1>()
  one = CastLike(one64, x)
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  d = Max(found, one)
  weighted = Mul({codes}, gamma)
  sign = Sign(weighted)
  absolute = Abs(weighted)
  scaled_up = Mul(absolute, up)"""
        + quotient
        + ("  signed = Mul(magnitude, sign)\n  y = Add(signed, beta)\n" if centred else "  y = Mul(magnitude, sign)\n")
    )


def _row_inputs(x: Tensor) -> Arrays:
    """Return the derived inputs that every norm of x has: N and a column of ones."""
    length = x.shape[-1]
    return {"length": length, "ones": np.ones((length, 1), dtype=np.int64)}


def _int64(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 64  # the square of a root of 31 bits, tried bit by bit


def _root_norm(centred: bool, reciprocal: bool) -> IntegerBody:
    """Return the body of a norm that divides by a root: `centred` with beta, or without both."""

    def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        attributes = attributes_of(node)
        shift = attributes["shift"]
        found = _row_inputs(inputs[0]) | {
            "guard2": 1 << 2 * attributes["guard"],
            "eps_code": attributes["eps"],
            "up": 1 << max(shift, 0),
        }
        down = 1 << max(-shift, 0)
        if not reciprocal:
            return found | {"down": down}
        divisor = down << attributes["reciprocal"]
        return found | {"power": 1 << attributes["reciprocal"], "half": divisor // 2, "divisor": divisor}

    names = ["length", "ones", "guard2", "eps_code", "up", *(["power", "half", "divisor"] if reciprocal else ["down"])]
    return IntegerBody(
        text=_root_norm_text(centred, reciprocal),
        extra=dict.fromkeys(names, CODE),
        derived=derived,
        needs_bits=_int64,
    )


_STATISTIC = {
    "l1": "\n  statistic = MatMul(absolute, ones)",
    "l2": SPREAD + "  statistic = Identity(v)",
}


def _shift_norm_text(kind: str) -> str:
    return (
        CENTRE
        + "  absolute = Abs(c)"
        + _STATISTIC[kind]
        + """
  is_reached = GreaterOrEqual(statistic, thresholds)
  reached = CastLike(is_reached, x)
  k = MatMul(reached, steps)
  row = Gather<axis: int = 0>(powers, k)
  numerator = Mul(absolute, gains)
  twice = Mul(numerator, two)
  raised = Add(twice, row)
  divisor = Mul(row, two)
  magnitude = Div(raised, divisor)
  sign = Sign(c)
  signed = Mul(magnitude, sign)
  y = Add(signed, beta)
"""
    )


def _shift_norm(kind: str) -> IntegerBody:
    """Return the body of a norm whose row is divided by a power of two near its `kind` of sigma."""

    def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        count = inputs[1].shape[0]
        return _row_inputs(inputs[0]) | {
            "steps": np.ones((count, 1), dtype=np.int64),
            "powers": [1 << k + GAIN_PLACES for k in range(count + 1)],
            "gains": [1 << p for p in places(attributes_of(node))],
            "two": 2,
        }

    names = ("length", "ones", "steps", "powers", "gains", "two")
    return IntegerBody(
        text=_shift_norm_text(kind), extra=dict.fromkeys(names, CODE), derived=derived, needs_bits=_shift_bits
    )


def _shift_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    greatest = 1 << inputs[1].shape[0] + GAIN_PLACES
    return bits_of(2 * (node.words["numerator"].hi + greatest))


# layer_norm: sums, an integer root bit by bit, and a rounded quotient.

LAYER_NORM_INTEGER = _root_norm(centred=True, reciprocal=False)

# layer_norm_recip: sums, an integer root bit by bit, and a rounded product with its reciprocal.

LAYER_NORM_RECIP_INTEGER = _root_norm(centred=True, reciprocal=True)

# rms_norm: sums, an integer root bit by bit, and a rounded quotient.

RMS_NORM_INTEGER = _root_norm(centred=False, reciprocal=False)

# rms_norm_recip: sums, an integer root bit by bit, and a rounded product with its reciprocal.

RMS_NORM_RECIP_INTEGER = _root_norm(centred=False, reciprocal=True)

# shift_norm_l1: the number of thresholds that the sum of magnitudes reaches is a power of two to divide by.

SHIFT_NORM_L1_INTEGER = _shift_norm("l1")

# shift_norm_l2: the number of thresholds that N**2 times the variance reaches is a power of two to divide by.

SHIFT_NORM_L2_INTEGER = _shift_norm("l2")

INTEGER_BODIES = {
    "layer_norm": LAYER_NORM_INTEGER,
    "layer_norm_recip": LAYER_NORM_RECIP_INTEGER,
    "rms_norm": RMS_NORM_INTEGER,
    "rms_norm_recip": RMS_NORM_RECIP_INTEGER,
    "shift_norm_l1": SHIFT_NORM_L1_INTEGER,
    "shift_norm_l2": SHIFT_NORM_L2_INTEGER,
}
"""By op, its body in integer.onnx."""
