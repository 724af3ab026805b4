"""ShiftNormL2: centred rows over a power of two that N**2 times the variance selects. Definition: mfsim/ops/shift_norm_l2.py.

`gamma_pow` = 2**(g + 8) and `thresholds` are int64; X lies on x_scale, beta on y_scale.
"""

from mfsim.export.functions.norms import shift_norm

BODY = shift_norm("ShiftNormL2", "l2")
