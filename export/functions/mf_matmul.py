"""MFMatMul: matrix product with the MF operator. Definition: mfsim/ops/mf_matmul.py."""

from mfsim.export.functions.mf import OPERANDS

BODY = f"""
<opset_import: ["" : 20], domain: "org.mfsim">
MFMatMul <form, sign_zero, grid> (X, W) => (Y) {{
    P = Identity (X)
    {OPERANDS}
    x_part = MatMul (xa, sw)
    w_part = MatMul (sx, wa)
    Y = Add (x_part, w_part)
}}
"""
