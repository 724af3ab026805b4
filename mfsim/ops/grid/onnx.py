"""Bodies of the ops that change a grid in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.ir.formats import Format
from mfsim.ir.program import Node
from mfsim.ops.integer_body import CODE, SHAPE, Arrays, IntegerBody, Tensors, attributes_of, channelwise
from mfsim.ops.onnx_text import choices

# Accumulator: the word of a sum, saturating or wrapping. Definition: mfsim/ops/grid/accumulator.py.

ACCUMULATOR = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
Accumulator <overflow, signed> (X, scale, bit_width) => (Y) {{
    origin = Constant <value_ints = [0]> ()
    {choices("overflow", ("wrap",), "origin")}
    two_int = Constant <value_int = 2> ()
    two = CastLike (two_int, bit_width)
    one_int = Constant <value_int = 1> ()
    one = CastLike (one_int, X)
    wide = Pow (two, bit_width)
    modulus = CastLike (wide, X)
    signed_int = Constant <value_int: int = @signed> ()
    is_signed = CastLike (signed_int, X)
    negative = Neg (is_signed)
    twice = CastLike (two, X)
    half = Div (modulus, twice)
    lo = Mul (negative, half)
    end = Add (lo, modulus)
    hi = Sub (end, one)
    codes = Div (X, scale)
    fitted = If (is_wrap) <
        then_branch = wrap () => (wrapped) {{
            above = Sub (codes, lo)
            turns = Div (above, modulus)
            whole = Floor (turns)
            left = Mul (whole, modulus)
            wrapped = Sub (codes, left)
        }},
        else_branch = saturate () => (saturated) {{
            least = Max (codes, lo)
            saturated = Min (least, hi)
        }}
    >
    Y = Mul (fitted, scale)
}}
"""

# Shift: x * gain for gains that are powers of two; a change of scale. Definition: mfsim/ops/grid/shift.py.

SHIFT = """
<opset_import: ["" : 20], domain: "org.mfsim">
Shift (X, gain) => (Y) {
    Y = Mul (X, gain)
}
"""

# CsdGain: X times constants of few signed digits. Definition: mfsim/ops/grid/csd_gain.py.

CSD_GAIN = """
<opset_import: ["" : 20], domain: "org.mfsim">
CsdGain <digits> (X, C) => (Y) {
    Y = Mul (X, C)
}
"""

# Quant of QONNX: round(x / scale + zero_point), clamped to the word, back to real values.
#
# Semantics and names of the rounding modes: QONNX's `Quant`, version 2. `ROUND` and `HALF_EVEN` are
# half-even; `DOWN` and `ROUND_TO_ZERO` truncate, `UP` rounds away from zero, `HALF_UP` and `HALF_DOWN`
# send ties away from and towards zero.

MODES = ("ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "HALF_UP", "HALF_DOWN")
"""Every other mode truncates."""

QUANT = f"""
<opset_import: ["" : 20], domain: "qonnx.custom_op.general">
Quant <signed, narrow, rounding_mode> (X, scale, zero_point, bit_width) => (Y) {{
    origin = Constant <value_ints = [0]> ()
    {choices("rounding_mode", MODES, "origin")}
    nearest = Or (is_ROUND, is_HALF_EVEN)
    one_int = Constant <value_int = 1> ()
    one = CastLike (one_int, X)
    two_int = Constant <value_int = 2> ()
    two = CastLike (two_int, X)
    signed_int = Constant <value_int: int = @signed> ()
    is_signed = CastLike (signed_int, X)
    narrow_int = Constant <value_int: int = @narrow> ()
    is_narrow = CastLike (narrow_int, X)
    width = CastLike (bit_width, X)
    unsigned_levels = Pow (two, width)
    halving = Pow (two, is_signed)
    levels = Div (unsigned_levels, halving)
    top = Sub (levels, one)
    not_signed = Sub (one, is_signed)
    left_out = Mul (is_narrow, not_signed)
    hi = Sub (top, left_out)
    bottom = Neg (levels)
    raised = Add (bottom, is_narrow)
    lo = Mul (is_signed, raised)
    quotient = Div (X, scale)
    v = Add (quotient, zero_point)
    r = If (nearest) <
        then_branch = to_nearest () => (even) {{ even = Round (v) }},
        else_branch = others () => (other) {{
            floor = Floor (v)
            ceil = Ceil (v)
            sign = Sign (v)
            size = Abs (v)
            size_floor = Floor (size)
            size_ceil = Ceil (size)
            fraction = Sub (size, size_floor)
            half_f = Constant <value_float = 0.5> ()
            half = CastLike (half_f, X)
            tie_up = GreaterOrEqual (fraction, half)
            tie_down = Greater (fraction, half)
            away = Where (tie_up, size_ceil, size_floor)
            towards = Where (tie_down, size_ceil, size_floor)
            half_up = Mul (sign, away)
            half_down = Mul (sign, towards)
            up = Mul (sign, size_ceil)
            down = Mul (sign, size_floor)
            a = Where (is_HALF_DOWN, half_down, down)
            b = Where (is_HALF_UP, half_up, a)
            c = Where (is_UP, up, b)
            d = Where (is_FLOOR, floor, c)
            other = Where (is_CEIL, ceil, d)
        }}
    >
    least = Max (r, lo)
    code = Min (least, hi)
    shifted = Sub (code, zero_point)
    Y = Mul (shifted, scale)
}}
"""

# Shared by requantize and accumulator: fit a code into a word, saturating or wrapping.
#
# Both rules are one sequence: clamp to `low`..`high`, then keep `bits` bits. For `saturate` the clamp is
# to the word and the second step changes nothing; for `wrap` the clamp is to the proved range and
# changes nothing. The second step works on the lower bits - 1 bits and on the top bit separately,
# because 2**63 is no int64.

FIT_EXTRA = {"low": CODE, "high": CODE, "half": CODE, "top": CODE}
"""Clamps, 2**(bits - 1), and the value of the top bit."""

FIT_TEXT = """
  clipped_low = Max(wide, low)
  clipped = Min(clipped_low, high)
  lower = Mod(clipped, half)
  upper_part = Sub(clipped, lower)
  upper = Div(upper_part, half)
  fit_two64 = Constant<value_int: int = 2>()
  fit_two = CastLike(fit_two64, wide)
  top_bit = Mod(upper, fit_two)
  top_value = Mul(top_bit, top)
  y = Add(lower, top_value)
"""
"""From `wide` to `y`."""


def _fit_inputs(attributes: Mapping[str, Any], lo: int, hi: int) -> Arrays:
    """Return the derived inputs for codes in lo..hi before the fit."""
    word = Format(attributes["bits"], bool(attributes["signed"]))
    half = 1 << (word.bits - 1)
    if attributes["overflow"] == "saturate":
        lo, hi = word.lo + (word.signed and attributes.get("narrow", 0)), word.hi
    return {"low": lo, "high": hi, "half": half, "top": -half if word.signed else half}


# requantize: floor division by 2**k, a round-up bit, then the fit into the word.
#
# With the remainder r = Mod(x, 2**k) every rounding rule is r >= threshold, where
#
#     threshold = base + odd * (the floored code is odd) + negative * (x < 0)
#
# so the rule lies in three derived numbers. Nothing is added before the division: no intermediate is
# wider than the input. A left shift multiplies by `gain` first; then r is 0 and base is 1.

REQUANTIZE_TEXT = """
  scaled = Mul(x, gain)
  rest = Mod(scaled, divisor)
  whole = Sub(scaled, rest)
  floored = Div(whole, divisor)
  zero64 = Constant<value_int: int = 0>()
  zero = CastLike(zero64, x)
  two64 = Constant<value_int: int = 2>()
  two = CastLike(two64, x)
  odd_bit = Mod(floored, two)
  odd_part = Mul(odd_bit, odd)
  is_negative = Less(x, zero)
  negative_bit = CastLike(is_negative, x)
  negative_part = Mul(negative_bit, negative)
  threshold_odd = Add(base, odd_part)
  threshold = Add(threshold_odd, negative_part)
  rounds_up = GreaterOrEqual(rest, threshold)
  up = CastLike(rounds_up, x)
  wide = Add(floored, up)
"""


def _thresholds(divisor: int, rounding: str) -> tuple[int, int, int]:
    """Return (base, odd, negative) for a remainder of 0..divisor - 1."""
    if divisor == 1:
        return 1, 0, 0
    half = divisor // 2
    return {
        "half_even": (half + 1, -1, 0),
        "half_up": (half, 0, 0),
        "half_away": (half, 0, 1),
        "floor": (divisor, 0, 0),
        "ceil": (1, 0, 0),
        "toward_zero": (divisor, 0, 1 - divisor),
    }[rounding]


def _divisors(attributes: Mapping[str, Any]) -> list[int]:
    """Return the power of two that each channel is divided by."""
    return [1 << max(s, 0) for s in attributes["shift"]]


def _requantize_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes, ndim, rounded = attributes_of(node), len(inputs[0].shape), node.words["rounded"]
    rules = [_thresholds(d, attributes["rounding"]) for d in _divisors(attributes)]

    def each(values: Sequence[int]) -> np.ndarray:
        return channelwise(values, attributes["axis"], ndim)

    return {
        "gain": each([1 << max(-s, 0) for s in attributes["shift"]]),
        "divisor": each(_divisors(attributes)),
        "base": each([r[0] for r in rules]),
        "odd": each([r[1] for r in rules]),
        "negative": each([r[2] for r in rules]),
        **_fit_inputs(attributes, rounded.lo, rounded.hi),
    }


REQUANTIZE_INTEGER = IntegerBody(
    text=REQUANTIZE_TEXT + FIT_TEXT,
    extra={"gain": CODE, "divisor": CODE, "base": CODE, "odd": CODE, "negative": CODE, **FIT_EXTRA},
    derived=_requantize_inputs,
)


# rescale: requantize's division by 2**shift, of the product with the multiplier.


def _rescale_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    attributes, ndim, rounded = attributes_of(node), len(inputs[0].shape), node.words["rounded"]
    rules = [_thresholds(d, attributes["rounding"]) for d in _divisors(attributes)]

    def each(values: Sequence[int]) -> np.ndarray:
        return channelwise(values, attributes["axis"], ndim)

    return {
        "gain": each(attributes["multiplier"]),
        "divisor": each(_divisors(attributes)),
        "base": each([r[0] for r in rules]),
        "odd": each([r[1] for r in rules]),
        "negative": each([r[2] for r in rules]),
        **_fit_inputs({**attributes, "overflow": "saturate"}, rounded.lo, rounded.hi),
    }


RESCALE_INTEGER = IntegerBody(
    text=REQUANTIZE_TEXT + FIT_TEXT,
    extra={"gain": CODE, "divisor": CODE, "base": CODE, "odd": CODE, "negative": CODE, **FIT_EXTRA},
    derived=_rescale_inputs,
)

# accumulator: the fit of the exact sum into its word.

ACCUMULATOR_TEXT = """
  wide = Identity(x)
"""


def _accumulator_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return _fit_inputs(attributes_of(node), inputs[0].range.low, inputs[0].range.high)


ACCUMULATOR_INTEGER = IntegerBody(text=ACCUMULATOR_TEXT + FIT_TEXT, extra=FIT_EXTRA, derived=_accumulator_inputs)

# shift: relabels the scale; the codes stay.

SHIFT_INTEGER = IntegerBody(
    text="""
  y = Identity(x)
"""
)

# gain: relabels the scale; the codes stay.

GAIN_INTEGER = IntegerBody(
    text="""
  y = Identity(x)
"""
)


# csd_gain: one Mul; the device and the counts know shifts and additions only.


def _csd_gain_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    x, c = inputs
    behind = len(x.shape) - 1 - attributes_of(node)["axis"] % len(x.shape)
    return {"channels_shape": [*c.shape, *[1] * behind]}


CSD_GAIN_INTEGER = IntegerBody(
    text="""
  gain = Reshape(c, channels_shape)
  y = Mul(x, gain)
""",
    extra={"channels_shape": SHAPE},
    derived=_csd_gain_inputs,
)

MODEL_BODIES = {
    "accumulator": (ACCUMULATOR,),
    "shift": (SHIFT,),
    "csd_gain": (CSD_GAIN,),
    "quant": (QUANT,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "requantize": REQUANTIZE_INTEGER,
    "rescale": RESCALE_INTEGER,
    "accumulator": ACCUMULATOR_INTEGER,
    "shift": SHIFT_INTEGER,
    "gain": GAIN_INTEGER,
    "csd_gain": CSD_GAIN_INTEGER,
}
"""By op, its body in integer.onnx."""
