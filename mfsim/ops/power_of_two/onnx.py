"""Bodies of the products with power-of-two weights in model.onnx and integer.onnx, as ONNX text."""

from __future__ import annotations

from mfsim.ops.onnx_windows import CONV2D_INTEGER, MATMUL_INTEGER

# ShiftMatMul: matrix product with weights that are powers of two. Definition: mfsim/ops/power_of_two/shift_matmul.py.

SHIFT_MATMUL = """
<opset_import: ["" : 20], domain: "org.mfsim">
ShiftMatMul (X, W) => (Y) {
    Y = MatMul (X, W)
}
"""


# ShiftConv: 2-D convolution with weights that are powers of two. Definition: mfsim/ops/power_of_two/shift_conv2d.py.

SHIFT_CONV2D = """
<opset_import: ["" : 20], domain: "org.mfsim">
ShiftConv <strides, pads, dilations, group> (X, W) => (Y) {
    Y = Conv <strides: ints = @strides, pads: ints = @pads, dilations: ints = @dilations, group: int = @group> (X, W)
}
"""


# shift_matmul: the MatMul of `matmul`; its products with powers of two are the host's shifts.

SHIFT_MATMUL_INTEGER = MATMUL_INTEGER


# shift_conv2d: the MatMul of `conv2d` with all windows; its products with powers of two are the host's shifts.

SHIFT_CONV2D_INTEGER = CONV2D_INTEGER

MODEL_BODIES = {
    "shift_matmul": (SHIFT_MATMUL,),
    "shift_conv2d": (SHIFT_CONV2D,),
}
"""By op, its functions in model.onnx: one, and one more for a masked form."""

INTEGER_BODIES = {
    "shift_matmul": SHIFT_MATMUL_INTEGER,
    "shift_conv2d": SHIFT_CONV2D_INTEGER,
}
"""By op, its body in integer.onnx."""
