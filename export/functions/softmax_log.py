"""SoftmaxLog: a subtraction in the log domain, then a table. Definition: mfsim/ops/softmax_log.py.

Tables, `thresholds` and `fine` = 2**g are int64; X lies on x_scale, the result on y_scale = 2**-F, which only
`out_table` knows.
"""

from mfsim.export.functions.normalisers import ZERO_AXIS, nearest, reached, softmax

OWN = (
    ZERO_AXIS
    + reached("S", "j")
    + """
    first = Gather (thresholds, zero)
    unit = Div (first, two)
    power = Mul (unit, j_power)
    steps = Size (lnm_table)
    mantissas = Sub (steps, one)
    widened = Mul (S, mantissas)
"""
    + nearest("widened", "power", "mantissa")
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

BODY = softmax("SoftmaxLog", CONSTANTS, OWN + PLAIN)
MASKED = softmax("SoftmaxLog", CONSTANTS, OWN + HIDDEN, masked=True)
