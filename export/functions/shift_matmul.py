"""ShiftMatMul: matrix product with weights that are powers of two. Definition: mfsim/ops/shift_matmul.py."""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
ShiftMatMul (X, W) => (Y) {
    Y = MatMul (X, W)
}
"""
