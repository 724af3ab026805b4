"""TanhL1: a division for each entry. Definition: mfsim/ops/tanh_l1.py.

`tanh_table` and `eps` are int64; X lies on x_scale, the result on y_scale = 2**-F.
"""

from mfsim.export.functions.normalisers import nearest, tanh_l1

OWN = """
    numerator = Mul (t, yq)
""" + nearest("numerator", "L", "magnitude")

BODY = tanh_l1("TanhL1", "tanh_table, eps", OWN)
MASKED = tanh_l1("TanhL1", "tanh_table, eps", OWN, masked=True)
