"""Quant of QONNX: round(x / scale + zero_point), clamped to the word, back to real values.

Semantics and names of the rounding modes: QONNX's `Quant`, version 2. `ROUND` and `HALF_EVEN` are
half-even; `DOWN` and `ROUND_TO_ZERO` truncate, `UP` rounds away from zero, `HALF_UP` and `HALF_DOWN`
send ties away from and towards zero.
"""

from mfsim.export.functions.text import choices

MODES = ("ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "HALF_UP", "HALF_DOWN")
"""Every other mode truncates."""

BODY = f"""
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
