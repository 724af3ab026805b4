"""RMSNorm: the norm of each row in int64. Definition: mfsim/ops/rms_norm.py.

`eps`, `guard` = 2**G are int64; X lies on x_scale, gamma on gamma_scale.
"""

from mfsim.export.functions.norms import root_norm

BODY = root_norm("RMSNorm", centred=False, reciprocal=False)
