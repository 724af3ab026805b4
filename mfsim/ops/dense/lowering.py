"""Compiler rules of the dense products: MatMul, Gemm, Conv, Gram."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.product_rules import conv_rule, matmul_rule, product_shape
from mfsim.compiler.lower.products import emit_product
from mfsim.errors import ShapeError, UnsupportedOpError


def _gram(lowering: Lowering, node: FileNode) -> None:
    """Emit gram: products of the rows of one activation with each other."""
    lowering.emit(node, "gram", [lowering.tensor(node, 0).name], {})


def _gemm(lowering: Lowering, node: FileNode) -> None:
    """Gemm without factors: x @ W + b, with W perhaps stored transposed."""
    if node.integer("transA", 0):
        raise UnsupportedOpError("`transA` must be 0, because axis 0 is the batch")
    for factor in ("alpha", "beta"):
        if node.number(factor, 1.0) != 1.0:
            raise UnsupportedOpError(
                f"`{factor}` must be 1, not {node.number(factor, 1.0):g}; fold it into the weights before quantization"
            )
    x = lowering.tensor(node, 0)
    if len(x.shape) != 2:
        raise ShapeError(f"x must have the shape [batch, K], not {len(x.shape)} axes")
    weights = lowering.grid(node, 1, "the weights")
    if node.integer("transB", 0):
        weights = weights.transposed()
    shape = product_shape(x, weights)
    emit_product(lowering, node, "matmul", x, weights, shape, {"constant": weights.constant}, axes=(1, 1), bias_input=2)


RULES = {
    ("", "Conv"): conv_rule("conv2d"),
    ("", "Gemm"): _gemm,
    ("", "MatMul"): matmul_rule("matmul"),
    ("org.mfsim", "Gram"): _gram,
}
