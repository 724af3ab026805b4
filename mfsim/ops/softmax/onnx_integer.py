"""Bodies of softmax and tanh-l1 in integer.onnx, as ONNX text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mfsim.ir.program import Node, Tensor
from mfsim.ops.integer_body import CODE, Arrays, IntegerBody, Tensors, attributes_of

# Pieces of the integer bodies that softmax and tanh-l1 share: masks, sums by products with ones, divisions.
#
# A mask that the node does not have is a derived 1. What a mask hides has the least code of x for the maximum
# and the term 0; `top` keeps a sum of nothing from being divided by. Every division is of a number that is not
# negative by one that is proved positive, where the truncation of ONNX is the floor.

Derived = Callable[[Node, Tensors, Tensors], Arrays]

Bits = Callable[[Node, Tensors, Tensors], int]


def _no_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return 0


TERMS = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  hides = CastLike(zero64, mask)
  seen = Greater(mask, hides)
  shown = Where(seen, x, hidden)
  last_axis = Constant<value_ints: ints = [-1]>()
  greatest = ReduceMax<keepdims: int = 1>(shown, last_axis)
  beside = Sub(greatest, x)
  d = Where(seen, beside, zero)
  index = Min(d, last)
  found = Gather<axis: int = 0>(exp_table, index)
  t = Where(seen, found, zero)
  sum = MatMul(t, ones)
  s = Max(sum, top)
"""
"""Distances d, terms t and sums s of softmax."""

COUNT = """
  met = GreaterOrEqual(s, thresholds)
  bits = CastLike(met, x)
  k = MatMul(bits, counted)
"""
"""The number k of thresholds that each s reaches."""


def _terms(inputs: Tensors) -> dict[str, Any]:
    """Return the derived inputs of `TERMS`, and an absent mask."""
    table = _codes_of(inputs[1])
    return {
        "mask": 1,
        "hidden": inputs[0].range.low,
        "last": len(table) - 1,
        "ones": np.ones((inputs[0].shape[-1], 1)),
        "top": table[0],
    }


def _codes_of(tensor: Tensor) -> list[int]:
    """Return the codes of a constant of one axis, which its op has proved to be one."""
    assert tensor.codes is not None, f"`{tensor.name}` is no constant"
    return [int(code) for code in tensor.codes]


def _shifts(inputs: Tensors, places: Sequence[int]) -> Arrays:
    """Return 2**p and half of it for each count k of thresholds, with p = places[k]; counts with p < 1 never occur."""
    known = [max(p, 1) for p in places]
    return {
        "counted": np.ones((len(_codes_of(inputs[2])), 1)),
        "gaps": [1 << p for p in known],
        "halves": [1 << p - 1 for p in known],
    }


def _softmax(text: str, names: Sequence[str], derived: Derived, needs_bits: Bits = _no_bits) -> IntegerBody:
    """Return the body of a softmax: `text` follows `TERMS`, and reads besides the derived inputs `names`."""

    def every(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        return _terms(inputs) | derived(node, inputs, outputs)

    return IntegerBody(TERMS + text, dict.fromkeys(["hidden", "last", "ones", "top", *names], CODE), every, needs_bits)


MAGNITUDES = """
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  hides = CastLike(zero64, mask)
  seen = Greater(mask, hides)
  size = Abs(x)
  index = Min(size, last)
  found = Gather<axis: int = 0>(tanh_table, index)
  t = Where(seen, found, zero)
  sum = MatMul(t, ones)
  s = Add(sum, eps_code)
  scaled = Mul(t, up)
"""
"""Terms t, divisors s and 2**(F+1) t of tanh-l1."""

SIGNED = """
  sign = Sign(x)
  y = Mul(magnitude, sign)
"""


def _tanh_l1(text: str, names: Sequence[str], derived: Derived, needs_bits: Bits = _no_bits) -> IntegerBody:
    """Return the body of a tanh-l1: `text` leads to `magnitude`, and reads besides the derived inputs `names`."""

    def every(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
        attributes, length = attributes_of(node), inputs[0].shape[-1]
        shared: Arrays = {"mask": 1, "last": inputs[1].shape[0] - 1, "ones": np.ones((length, 1))}
        scalars: Arrays = {"eps_code": attributes["eps"], "up": 2 << attributes["fraction"]}
        return shared | scalars | derived(node, inputs, outputs)

    shared = ["last", "ones", "eps_code", "up"]
    return IntegerBody(MAGNITUDES + text + SIGNED, dict.fromkeys([*shared, *names], CODE), every, needs_bits)


# softmax: terms by Gather, their sum, and a rounded quotient for each entry.

SOFTMAX_TEXT = """
  scaled = Mul(t, up)
  numerator = Add(scaled, s)
  divisor = Add(s, s)
  y = Div(numerator, divisor)
"""


def _softmax_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {"up": 2 << attributes_of(node)["fraction"]}


def _divisor_bits(node: Node, inputs: Tensors, outputs: Tensors) -> int:
    return node.words["sum"].bits + 2  # twice the sum, in a signed word


SOFTMAX_INTEGER = _softmax(SOFTMAX_TEXT, ["up"], _softmax_inputs, _divisor_bits)

# softmax_recip: terms by Gather, their sum, its reciprocal, and a rounded product for each entry.

SOFTMAX_RECIP_TEXT = """
  inverse = Div(power, s)
  product = Mul(t, inverse)
  raised = Add(product, half)
  y = Div(raised, gap)
"""


def _softmax_recip_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes = attributes_of(node)
    gap = 1 << attributes["reciprocal"] - attributes["fraction"]
    return {"power": 1 << attributes["reciprocal"], "gap": gap, "half": gap // 2}


SOFTMAX_RECIP_INTEGER = _softmax(SOFTMAX_RECIP_TEXT, ["power", "gap", "half"], _softmax_recip_inputs)

# softmax_shift: terms by Gather, the thresholds that their sum reaches, and a rounding shift for each entry.

SOFTMAX_SHIFT_TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  raised = Add(t, half)
  y = Div(raised, gap)
"""
)


def _softmax_shift_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    reached = range(inputs[2].shape[0] + 1)
    return _shifts(inputs, [k - attributes_of(node)["fraction"] for k in reached])


SOFTMAX_SHIFT_INTEGER = _softmax(SOFTMAX_SHIFT_TEXT, ["counted", "gaps", "halves"], _softmax_shift_inputs)

# softmax_log: the logarithm of the row sum from two tables, then a table of results for each entry.

SOFTMAX_LOG_TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  raised = Add(s, half)
  mantissa = Div(raised, gap)
  u = Sub(mantissa, mantissas)
  of_power = Gather<axis: int = 0>(lnk_table, k)
  of_mantissa = Gather<axis: int = 0>(lnm_table, u)
  logarithm = Add(of_power, of_mantissa)
  refined = Mul(d, fine)
  place = Add(refined, logarithm)
  address = Min(place, last_result)
  visible = Gather<axis: int = 0>(out_table, address)
  y = Where(seen, visible, zero)
"""
)


def _softmax_log_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    mantissas = inputs[4].shape[0] - 1
    least = _codes_of(inputs[1])[0].bit_length() - mantissas.bit_length()  # P - M
    return {
        **_shifts(inputs, [least + j for j in range(inputs[2].shape[0] + 1)]),
        "mantissas": mantissas,
        "fine": 1 << attributes_of(node)["fine_bits"],
        "last_result": inputs[5].shape[0] - 1,
    }


SOFTMAX_LOG_INTEGER = _softmax(
    SOFTMAX_LOG_TEXT, ["counted", "gaps", "halves", "mantissas", "fine", "last_result"], _softmax_log_inputs
)

# tanh_l1: terms by Gather, their sum, and a rounded quotient with the sign of each entry.

TANH_L1_TEXT = """
  numerator = Add(scaled, s)
  divisor = Add(s, s)
  magnitude = Div(numerator, divisor)
"""


def _tanh_l1_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return {}


TANH_L1_INTEGER = _tanh_l1(TANH_L1_TEXT, [], _tanh_l1_inputs, _divisor_bits)

# tanh_l1_shift: terms by Gather, the thresholds that their sum reaches, and a rounding shift for each entry.

TANH_L1_SHIFT_TEXT = (
    COUNT
    + """
  gap = Gather<axis: int = 0>(gaps, k)
  half = Gather<axis: int = 0>(halves, k)
  numerator = Add(scaled, half)
  magnitude = Div(numerator, gap)
"""
)


def _tanh_l1_shift_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return _shifts(inputs, [k + 1 for k in range(inputs[2].shape[0] + 1)])


TANH_L1_SHIFT_INTEGER = _tanh_l1(TANH_L1_SHIFT_TEXT, ["counted", "gaps", "halves"], _tanh_l1_shift_inputs)

INTEGER_BODIES = {
    "softmax": SOFTMAX_INTEGER,
    "softmax_recip": SOFTMAX_RECIP_INTEGER,
    "softmax_shift": SOFTMAX_SHIFT_INTEGER,
    "softmax_log": SOFTMAX_LOG_INTEGER,
    "tanh_l1": TANH_L1_INTEGER,
    "tanh_l1_shift": TANH_L1_SHIFT_INTEGER,
}
"""By op, its body in integer.onnx."""
