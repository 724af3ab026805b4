"""RMSNormRecip: the norm of each row in int64. Definition: mfsim/ops/rms_norm_recip.py.

`eps`, `guard` = 2**G and `recip_one` = 2**K are int64; X lies on x_scale, gamma on gamma_scale.
"""

from mfsim.export.functions.norms import root_norm

BODY = root_norm("RMSNormRecip", centred=False, reciprocal=True)
