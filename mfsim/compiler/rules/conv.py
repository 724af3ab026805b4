"""Conv: dense 2-D convolution. MFConv and others of org.mfsim: the same with another product.

Their bias is an Add right behind.
"""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.product import emit_product
from mfsim.compiler.rules.matmul import mf_attributes
from mfsim.compiler.windows import plane, window
from mfsim.errors import ShapeError, UnsupportedOpError

OPS = {
    "Conv": "conv2d",
    "MFConv": "mf_conv2d",
    "AdderConv": "adder_conv2d",
    "MinConv": "min_conv2d",
    "ShiftConv": "shift_conv2d",
}
"""The op of the program for each convolution of the file."""


def conv(lowering: Lowering, node: FileNode) -> None:
    """Conv and its relatives with quantized constant weights [O, C / groups, kh, kw]."""
    x = lowering.tensor(node, 0)
    weights = lowering.grid(node, 1, "the weights")
    if len(x.shape) != 4 or weights.codes.ndim != 4:
        raise ShapeError(f"x and the weights must have 4 axes, not {len(x.shape)} and {weights.codes.ndim}")
    if weights.scale.axis not in (None, 0):
        raise UnsupportedOpError("the weights must have one scale, or one for each output channel")
    geometry = window(node, weights.codes.shape[2:], None if lowering.strict else x.shape[2:])
    kernel = geometry.pop("kernel")
    outputs = weights.codes.shape[0]
    shape = (1, outputs, *plane(x.shape[2:], kernel, geometry))
    attributes = geometry | {"groups": node.integer("group", 1)} | mf_attributes(node)
    op = OPS[node.op]
    emit_product(lowering, node, op, x, weights, shape, attributes, axes=(1, 0), bias_input=2)


RULES = {("" if op == "Conv" else "org.mfsim", op): conv for op in OPS}
