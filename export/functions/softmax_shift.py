"""SoftmaxShift: the row sum rounded to a power of two in the log domain. Definition: mfsim/ops/softmax_shift.py.

`exp_table` and `thresholds` are int64; X lies on x_scale, the result on y_scale = 2**-F.
"""

from mfsim.export.functions.normalisers import ZERO_AXIS, reached, softmax

OWN = (
    ZERO_AXIS
    + reached("S", "k")
    + """
    gap = Div (k_power, yq)
    half = Div (gap, two)
    raised = Add (t, half)
    code = Div (raised, gap)
"""
)

BODY = softmax("SoftmaxShift", "exp_table, thresholds", OWN)
MASKED = softmax("SoftmaxShift", "exp_table, thresholds", OWN, masked=True)
