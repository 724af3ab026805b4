"""Gram: the product of a matrix with its own transpose. Definition: mfsim/ops/gram.py.

No Einsum: that of ONNX Runtime 1.32 divides by zero where the batch is empty.
"""

BODY = """
<opset_import: ["" : 20], domain: "org.mfsim">
Gram (X) => (Y) {
    any = Constant <value_ints = [-1]> ()
    matrix = Shape <start = -2> (X)
    rows = Shape <start = -2, end = -1> (X)
    front = Shape <end = -1> (X)
    matrices_shape = Concat <axis = 0> (any, matrix)
    matrices = Reshape (X, matrices_shape)
    turned = Transpose <perm = [0, 2, 1]> (matrices)
    products = MatMul (matrices, turned)
    shape = Concat <axis = 0> (front, rows)
    Y = Reshape <allowzero = 1> (products, shape)
}
"""
