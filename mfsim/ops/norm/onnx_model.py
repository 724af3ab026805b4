"""Bodies of the norms in model.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ops.onnx_text import INTEGER_ROOT

# Pieces of ONNX text that the norms share. Definitions: mfsim/ops/norm/definition.py, mfsim/ops/norm/root_norms.py.
#
# Between `X / x_scale` and `code * y_scale` everything is int64. Sums are products with a column of ones,
# which are exact. The integer root starts from the double one, which is off by at most 1 below 2**62, and is
# corrected on both sides.

PROLOGUE = """
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    q = Cast <to = 7> (nearest)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    single = Constant <value_ints = [1]> ()
    width = Shape <start = -1> (X)
    column = Concat <axis = 0> (width, single)
    unit = Constant <value_ints = [1]> ()
    ones = Expand (unit, column)
    nq = Mul (q, width)
"""
"""Codes q, N q and what the sums need."""

CENTRE = """
    s = MatMul (q, ones)
    c = Sub (nq, s)
"""
"""The centred codes c."""

SQUARES = """
    q2 = Mul (q, q)
    s2 = MatMul (q2, ones)
    ns2 = Mul (s2, width)
"""
"""N sum q**2."""

SPREAD = (
    SQUARES
    + """
    ss = Mul (s, s)
    V = Sub (ns2, ss)
"""
)
"""V = N sum q**2 - s**2."""

NEAREST = """
    twice = Mul (numerator, two)
    raised = Add (twice, denominator)
    divisor = Mul (denominator, two)
    magnitude = Div (raised, divisor)
"""
"""`numerator` / `denominator` rounded, halves up; neither is negative."""

OFFSET = """
    offset_scaled = Div (beta, y_scale)
    offset_nearest = Round (offset_scaled)
    offset = Cast <to = 7> (offset_nearest)
    code = Add (signed, offset)
"""

EPILOGUE = """
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
"""


def _root(variation: str) -> str:
    """Return the text from `variation` to D = max(1, isqrt(variation * guard**2 + eps))."""
    return f"""
    guard2 = Mul (guard, guard)
    guarded = Mul ({variation}, guard2)
    W = Add (guarded, eps)
{INTEGER_ROOT}
    D = Max (r2, one)
"""


def _weighted(codes: str) -> str:
    """Return the text from `codes` to `sign` and `absolute` of codes * g, and up, down with up / down = 2**f."""
    return f"""
    gamma_scaled = Div (gamma, gamma_scale)
    gamma_nearest = Round (gamma_scaled)
    g = Cast <to = 7> (gamma_nearest)
    weighted = Mul ({codes}, g)
    sign = Sign (weighted)
    absolute = Abs (weighted)
    ratio = Div (gamma_scale, y_scale)
    guard_real = CastLike (guard, gamma_scale)
    places = Mul (ratio, guard_real)
    one_real = CastLike (one, gamma_scale)
    up_real = Max (places, one_real)
    up = Cast <to = 7> (up_real)
    inverse = Reciprocal (places)
    down_real = Max (inverse, one_real)
    down = Cast <to = 7> (down_real)
    scaled_up = Mul (absolute, up)
"""


DIVISION = (
    """
    numerator = Identity (scaled_up)
    denominator = Mul (D, down)
"""
    + NEAREST
)

RECIPROCAL = """
    R = Div (recip_one, D)
    product = Mul (scaled_up, R)
    divisor = Mul (recip_one, down)
    half = Div (divisor, two)
    raised = Add (product, half)
    magnitude = Div (raised, divisor)
"""


def _root_norm(name: str, centred: bool, reciprocal: bool) -> str:
    """Return the body of a norm that divides by a root: `centred` with beta, or without both."""
    inputs = ["X", "x_scale", "gamma", "gamma_scale", *["beta"] * centred, "eps", "guard"]
    inputs += [*["recip_one"] * reciprocal, "y_scale"]
    return (
        f'<opset_import: ["" : 20], domain: "org.mfsim">\n{name} ({", ".join(inputs)}) => (Y) {{'
        + PROLOGUE
        + (CENTRE + SPREAD if centred else SQUARES)
        + _root("V" if centred else "ns2")
        + _weighted("c" if centred else "nq")
        + (RECIPROCAL if reciprocal else DIVISION)
        + f"\n    {'signed' if centred else 'code'} = Mul (magnitude, sign)\n"
        + (OFFSET if centred else "")
        + EPILOGUE
        + "}"
    )


_STATISTIC = {
    "l1": """
    absolute = Abs (c)
    statistic = MatMul (absolute, ones)
""",
    "l2": SPREAD
    + """
    absolute = Abs (c)
    statistic = Identity (V)
""",
}

_SHIFTED = """
    steps = Shape (thresholds)
    steps_column = Concat <axis = 0> (steps, single)
    steps_ones = Expand (unit, steps_column)
    is_reached = GreaterOrEqual (statistic, thresholds)
    reached = Cast <to = 7> (is_reached)
    k = MatMul (reached, steps_ones)
    k_unsigned = Cast <to = 13> (k)
    unsigned_256 = Constant <value = uint64 {256}> ()
    power = BitShift <direction = "LEFT"> (unsigned_256, k_unsigned)
    denominator = Cast <to = 7> (power)
    y_inverse = Reciprocal (y_scale)
    up = Cast <to = 7> (y_inverse)
    gains = Mul (gamma_pow, up)
    numerator = Mul (absolute, gains)
"""


def _shift_norm(name: str, kind: str) -> str:
    """Return the body of a norm whose row is divided by a power of two near its `kind` of sigma."""
    return (
        f'<opset_import: ["" : 20], domain: "org.mfsim">\n{name} '
        "(X, x_scale, gamma_pow, beta, thresholds, y_scale) => (Y) {"
        + PROLOGUE
        + CENTRE
        + _STATISTIC[kind]
        + _SHIFTED
        + NEAREST
        + """
    sign = Sign (c)
    signed = Mul (magnitude, sign)
"""
        + OFFSET
        + EPILOGUE
        + "}"
    )


# LayerNorm: the norm of each row in int64. Definition: mfsim/ops/norm/layer_norm.py.
#
# `eps`, `guard` = 2**G are int64; X lies on x_scale, gamma on gamma_scale, beta on y_scale.

LAYER_NORM = _root_norm("LayerNorm", centred=True, reciprocal=False)

# LayerNormRecip: the norm of each row in int64. Definition: mfsim/ops/norm/layer_norm_recip.py.
#
# `eps`, `guard` = 2**G and `recip_one` = 2**K are int64; X lies on x_scale, gamma on gamma_scale, beta on y_scale.

LAYER_NORM_RECIP = _root_norm("LayerNormRecip", centred=True, reciprocal=True)

# RMSNorm: the norm of each row in int64. Definition: mfsim/ops/norm/rms_norm.py.
#
# `eps`, `guard` = 2**G are int64; X lies on x_scale, gamma on gamma_scale.

RMS_NORM = _root_norm("RMSNorm", centred=False, reciprocal=False)

# RMSNormRecip: the norm of each row in int64. Definition: mfsim/ops/norm/rms_norm_recip.py.
#
# `eps`, `guard` = 2**G and `recip_one` = 2**K are int64; X lies on x_scale, gamma on gamma_scale.

RMS_NORM_RECIP = _root_norm("RMSNormRecip", centred=False, reciprocal=True)

# ShiftNormL1: centred rows over a power of two that the sum of magnitudes selects. Definition: mfsim/ops/norm/shift_norm_l1.py.
#
# `gamma_pow` = 2**(g + 8) and `thresholds` are int64; X lies on x_scale, beta on y_scale.

SHIFT_NORM_L1 = _shift_norm("ShiftNormL1", "l1")

# ShiftNormL2: centred rows over a power of two that N**2 times the variance selects. Definition: mfsim/ops/norm/shift_norm_l2.py.
#
# `gamma_pow` = 2**(g + 8) and `thresholds` are int64; X lies on x_scale, beta on y_scale.

SHIFT_NORM_L2 = _shift_norm("ShiftNormL2", "l2")

MODEL_BODIES = {
    "layer_norm": (LAYER_NORM,),
    "layer_norm_recip": (LAYER_NORM_RECIP,),
    "rms_norm": (RMS_NORM,),
    "rms_norm_recip": (RMS_NORM_RECIP,),
    "shift_norm_l1": (SHIFT_NORM_L1,),
    "shift_norm_l2": (SHIFT_NORM_L2,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""
