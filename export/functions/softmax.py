"""Softmax: a division for each entry. Definition: mfsim/ops/softmax.py.

`exp_table` is int64; X lies on x_scale, the result on y_scale = 2**-F.
"""

from mfsim.export.functions.normalisers import nearest, softmax

OWN = """
    numerator = Mul (t, yq)
""" + nearest("numerator", "S", "code")

BODY = softmax("Softmax", "exp_table", OWN)
MASKED = softmax("Softmax", "exp_table", OWN, masked=True)
