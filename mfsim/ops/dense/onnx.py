"""Bodies of the dense products in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

import math

from mfsim.ir.program import Node
from mfsim.ops.integer_body import SHAPE, Arrays, IntegerBody, Tensors, target
from mfsim.ops.onnx_windows import CONV2D_INTEGER, MATMUL_INTEGER

# Gram: the product of a matrix with its own transpose. Definition: mfsim/ops/dense/gram.py.
#
# No Einsum: that of ONNX Runtime 1.32 divides by zero where the batch is empty.

GRAM = """
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


# gram: one MatMul with the transposed rows, which the device and the counts know as one triangle of it.


def _gram_inputs(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    (x,) = inputs
    return {"matrices_shape": [0, math.prod(x.shape[1:-2]), *x.shape[-2:]], "shape": target(outputs[0].shape)}


GRAM_INTEGER = IntegerBody(
    text="""
  matrices = Reshape(x, matrices_shape)
  turned = Transpose<perm: ints = [0, 1, 3, 2]>(matrices)
  products = MatMul(matrices, turned)
  y = Reshape(products, shape)
""",
    extra={"matrices_shape": SHAPE, "shape": SHAPE},
    derived=_gram_inputs,
)

MODEL_BODIES = {
    "gram": (GRAM,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "matmul": MATMUL_INTEGER,
    "conv2d": CONV2D_INTEGER,
    "gram": GRAM_INTEGER,
}
"""By op, its body in integer.onnx."""
