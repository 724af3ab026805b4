"""Bodies of softmax and tanh-l1 in model.onnx, as ONNX text."""

from __future__ import annotations

# Pieces of ONNX text that softmax and tanh-l1 share. Definitions: mfsim/ops/softmax/softmax_definition.py, mfsim/ops/softmax/tanh_l1_definition.py.
#
# Between `X / x_scale` and `code * y_scale` everything is int64. Sums are products with a column of ones,
# which are exact; indices are clamped into their table. A function cannot have an optional input, so each op
# has a second one, `Masked<Op>`, whose last input is a mask of 0 and 1 that broadcasts against X.

PROLOGUE = """
    scaled = Div (X, x_scale)
    nearest = Round (scaled)
    q = Cast <to = 7> (nearest)
    units = Reciprocal (y_scale)
    yq = Cast <to = 7> (units)
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    last_axis = Constant <value_ints = [-1]> ()
    single = Constant <value_ints = [1]> ()
    width = Shape <start = -1> (X)
    column = Concat <axis = 0> (width, single)
    ones = Expand (single, column)
"""
"""Codes q, 2**F as yq, and what sums need."""

EPILOGUE = """
    value = CastLike (code, X)
    Y = Mul (value, y_scale)
"""

HIDDEN_CODE = -(2**62)
"""Less than every code, and so that a difference to a code still fits int64."""

DISTANCES = """
    greatest = ReduceMax <keepdims = 1> (q, last_axis)
    d = Sub (greatest, q)
"""

MASKED_DISTANCES = f"""
    seen = Cast <to = 9> (mask)
    hidden = Constant <value_int = {HIDDEN_CODE}> ()
    shown = Where (seen, q, hidden)
    greatest = ReduceMax <keepdims = 1> (shown, last_axis)
    beside = Sub (greatest, q)
    d = Where (seen, beside, zero)
"""

TERMS = """
    entries = Size (exp_table)
    last = Sub (entries, one)
    index = Min (d, last)
"""

SUM = """
    t = Gather (exp_table, index)
    S = MatMul (t, ones)
"""

MASKED_SUM = """
    found = Gather (exp_table, index)
    t = Where (seen, found, zero)
    sum = MatMul (t, ones)
    top = Gather (exp_table, zero)
    S = Max (sum, top)
"""
"""A row that sees nothing has the sum 0, which becomes 2**P; no other sum is less."""

MAGNITUDES = """
    size = Abs (q)
    entries = Size (tanh_table)
    last = Sub (entries, one)
    index = Min (size, last)
"""

WEIGHTS = """
    t = Gather (tanh_table, index)
"""

MASKED_WEIGHTS = """
    seen = Cast <to = 9> (mask)
    found = Gather (tanh_table, index)
    t = Where (seen, found, zero)
"""

DIVISOR = """
    sum = MatMul (t, ones)
    L = Add (sum, eps)
"""

SIGNED = """
    sign = Sign (q)
    code = Mul (magnitude, sign)
"""


def _nearest(numerator: str, denominator: str, result: str) -> str:
    """Return the text of `numerator` / `denominator` rounded, halves up; neither is negative."""
    return f"""
    {result}_twice = Mul ({numerator}, two)
    {result}_raised = Add ({result}_twice, {denominator})
    {result}_divisor = Mul ({denominator}, two)
    {result} = Div ({result}_raised, {result}_divisor)
"""


def _reached(value: str, result: str) -> str:
    """Return the text of how many `thresholds` each row's `value` [..., 1] reaches, and of 2 to that power."""
    return f"""
    {result}_met = GreaterOrEqual ({value}, thresholds)
    {result}_bits = Cast <to = 7> ({result}_met)
    {result}_count = Size (thresholds)
    {result}_rows = Unsqueeze ({result}_count, zero_axis)
    {result}_column = Concat <axis = 0> ({result}_rows, single)
    {result}_ones = Expand (single, {result}_column)
    {result} = MatMul ({result}_bits, {result}_ones)
    {result}_places = Cast <to = 13> ({result})
    {result}_one = Cast <to = 13> (one)
    {result}_unsigned = BitShift <direction = "LEFT"> ({result}_one, {result}_places)
    {result}_power = Cast <to = 7> ({result}_unsigned)
"""


ZERO_AXIS = """
    zero_axis = Constant <value_ints = [0]> ()
"""


def _softmax(name: str, constants: str, own: str, masked: bool = False) -> str:
    """Return the function `name`, or `Masked<name>`.

    `constants` are its inputs between x_scale and y_scale, `own` its lines from q, d, t and S to `code`;
    with a mask, `seen` tells what a row sees.
    """
    shared = (MASKED_DISTANCES, TERMS, MASKED_SUM) if masked else (DISTANCES, TERMS, SUM)
    return _function(name, constants, "".join(shared) + own, masked)


def _tanh_l1(name: str, constants: str, own: str, masked: bool = False) -> str:
    """Return the function `name`, or `Masked<name>`; `own` leads from t and the divisor L to `magnitude`."""
    shared = MAGNITUDES + (MASKED_WEIGHTS if masked else WEIGHTS) + DIVISOR
    return _function(name, constants, shared + own + SIGNED, masked)


def _function(name: str, constants: str, text: str, masked: bool) -> str:
    """Return the function `name` (`Masked<name>`) whose lines `text` lead from q to `code`."""
    inputs = f"X, x_scale, {constants}, y_scale" + (", mask" if masked else "")
    head = f"{'Masked' if masked else ''}{name} ({inputs}) => (Y)"
    return f'\n<opset_import: ["" : 20], domain: "org.mfsim">\n{head} {{{PROLOGUE}{text}{EPILOGUE}}}\n'


# Softmax: a division for each entry. Definition: mfsim/ops/softmax/softmax.py.
#
# `exp_table` is int64; X lies on x_scale, the result on y_scale = 2**-F.

SOFTMAX_LINES = """
    numerator = Mul (t, yq)
""" + _nearest("numerator", "S", "code")

SOFTMAX = _softmax("Softmax", "exp_table", SOFTMAX_LINES)

MASKED_SOFTMAX = _softmax("Softmax", "exp_table", SOFTMAX_LINES, masked=True)

# SoftmaxRecip: one division for each row, R = 2**K // S, then products. Definition: mfsim/ops/softmax/softmax_recip.py.
#
# `recip_one` is 2**K, `exp_table` and it are int64; X lies on x_scale, the result on y_scale = 2**-F.

SOFTMAX_RECIP_LINES = """
    inverse = Div (recip_one, S)
    product = Mul (t, inverse)
    gap = Div (recip_one, yq)
    half = Div (gap, two)
    raised = Add (product, half)
    code = Div (raised, gap)
"""

SOFTMAX_RECIP = _softmax("SoftmaxRecip", "exp_table, recip_one", SOFTMAX_RECIP_LINES)

MASKED_SOFTMAX_RECIP = _softmax("SoftmaxRecip", "exp_table, recip_one", SOFTMAX_RECIP_LINES, masked=True)

# SoftmaxShift: the row sum rounded to a power of two in the log domain. Definition: mfsim/ops/softmax/softmax_shift.py.
#
# `exp_table` and `thresholds` are int64; X lies on x_scale, the result on y_scale = 2**-F.

SOFTMAX_SHIFT_LINES = (
    ZERO_AXIS
    + _reached("S", "k")
    + """
    gap = Div (k_power, yq)
    half = Div (gap, two)
    raised = Add (t, half)
    code = Div (raised, gap)
"""
)

SOFTMAX_SHIFT = _softmax("SoftmaxShift", "exp_table, thresholds", SOFTMAX_SHIFT_LINES)

MASKED_SOFTMAX_SHIFT = _softmax("SoftmaxShift", "exp_table, thresholds", SOFTMAX_SHIFT_LINES, masked=True)

# SoftmaxLog: a subtraction in the log domain, then a table. Definition: mfsim/ops/softmax/softmax_log.py.
#
# Tables, `thresholds` and `fine` = 2**g are int64; X lies on x_scale, the result on y_scale = 2**-F, which only
# `out_table` knows.

SOFTMAX_LOG_LINES = (
    ZERO_AXIS
    + _reached("S", "j")
    + """
    first = Gather (thresholds, zero)
    unit = Div (first, two)
    power = Mul (unit, j_power)
    steps = Size (lnm_table)
    mantissas = Sub (steps, one)
    widened = Mul (S, mantissas)
"""
    + _nearest("widened", "power", "mantissa")
    + """
    u = Sub (mantissa, mantissas)
    of_power = Gather (lnk_table, j)
    of_mantissa = Gather (lnm_table, u)
    logarithm = Add (of_power, of_mantissa)
    refined = Mul (d, fine)
    place = Add (refined, logarithm)
    results = Size (out_table)
    last_result = Sub (results, one)
    address = Min (place, last_result)
"""
)

PLAIN = """
    code = Gather (out_table, address)
"""

HIDDEN = """
    visible = Gather (out_table, address)
    code = Where (seen, visible, zero)
"""

CONSTANTS = "exp_table, thresholds, lnk_table, lnm_table, out_table, fine"

SOFTMAX_LOG = _softmax("SoftmaxLog", CONSTANTS, SOFTMAX_LOG_LINES + PLAIN)

MASKED_SOFTMAX_LOG = _softmax("SoftmaxLog", CONSTANTS, SOFTMAX_LOG_LINES + HIDDEN, masked=True)

# TanhL1: a division for each entry. Definition: mfsim/ops/softmax/tanh_l1.py.
#
# `tanh_table` and `eps` are int64; X lies on x_scale, the result on y_scale = 2**-F.

TANH_L1_LINES = """
    numerator = Mul (t, yq)
""" + _nearest("numerator", "L", "magnitude")

TANH_L1 = _tanh_l1("TanhL1", "tanh_table, eps", TANH_L1_LINES)

MASKED_TANH_L1 = _tanh_l1("TanhL1", "tanh_table, eps", TANH_L1_LINES, masked=True)

# TanhL1Shift: the divisor rounded to a power of two in the log domain. Definition: mfsim/ops/softmax/tanh_l1_shift.py.
#
# `tanh_table`, `eps` and `thresholds` are int64; X lies on x_scale, the result on y_scale = 2**-F.

TANH_L1_SHIFT_LINES = (
    ZERO_AXIS
    + _reached("L", "k")
    + """
    numerator = Mul (t, yq)
"""
    + _nearest("numerator", "k_power", "magnitude")
)

TANH_L1_SHIFT = _tanh_l1("TanhL1Shift", "tanh_table, eps, thresholds", TANH_L1_SHIFT_LINES)

MASKED_TANH_L1_SHIFT = _tanh_l1("TanhL1Shift", "tanh_table, eps, thresholds", TANH_L1_SHIFT_LINES, masked=True)

MODEL_BODIES = {
    "softmax": (
        SOFTMAX,
        MASKED_SOFTMAX,
    ),
    "softmax_recip": (
        SOFTMAX_RECIP,
        MASKED_SOFTMAX_RECIP,
    ),
    "softmax_shift": (
        SOFTMAX_SHIFT,
        MASKED_SOFTMAX_SHIFT,
    ),
    "softmax_log": (
        SOFTMAX_LOG,
        MASKED_SOFTMAX_LOG,
    ),
    "tanh_l1": (
        TANH_L1,
        MASKED_TANH_L1,
    ),
    "tanh_l1_shift": (
        TANH_L1_SHIFT,
        MASKED_TANH_L1_SHIFT,
    ),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""
