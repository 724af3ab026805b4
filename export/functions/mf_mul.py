"""MFMul: the MF operator, element by element, with broadcasting. Definition: mfsim/ops/mf_mul.py."""

from mfsim.export.functions.mf import OPERANDS

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFMul <form, sign_zero, grid> (X, W) => (Y) {{
    P = Identity (X)
    {OPERANDS}
    x_part = Mul (xa, sw)
    w_part = Mul (sx, wa)
    Y = Add (x_part, w_part)
}}
"""
