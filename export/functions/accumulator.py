"""Accumulator: the word of a sum, saturating or wrapping. Definition: mfsim/ops/accumulator.py."""

from mfsim.export.functions.text import choices

BODY = f"""
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
