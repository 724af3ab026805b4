"""SoftmaxRecip: one division for each row, R = 2**K // S, then products. Definition: mfsim/ops/softmax_recip.py.

`recip_one` is 2**K, `exp_table` and it are int64; X lies on x_scale, the result on y_scale = 2**-F.
"""

from mfsim.export.functions.normalisers import softmax

OWN = """
    inverse = Div (recip_one, S)
    product = Mul (t, inverse)
    gap = Div (recip_one, yq)
    half = Div (gap, two)
    raised = Add (product, half)
    code = Div (raised, gap)
"""

BODY = softmax("SoftmaxRecip", "exp_table, recip_one", OWN)
MASKED = softmax("SoftmaxRecip", "exp_table, recip_one", OWN, masked=True)
