"""TanhL1Shift: the divisor rounded to a power of two in the log domain. Definition: mfsim/ops/tanh_l1_shift.py.

`tanh_table`, `eps` and `thresholds` are int64; X lies on x_scale, the result on y_scale = 2**-F.
"""

from mfsim.export.functions.normalisers import ZERO_AXIS, nearest, reached, tanh_l1

OWN = (
    ZERO_AXIS
    + reached("L", "k")
    + """
    numerator = Mul (t, yq)
"""
    + nearest("numerator", "k_power", "magnitude")
)

BODY = tanh_l1("TanhL1Shift", "tanh_table, eps, thresholds", OWN)
MASKED = tanh_l1("TanhL1Shift", "tanh_table, eps, thresholds", OWN, masked=True)
