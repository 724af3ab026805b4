"""MatMul, Gemm: dense matrix products. MFMatMul and others of org.mfsim: the same with another product.

Weights are a quantized constant [K, O], or a second activation where the product takes one. The bias of a
Gemm is its third input, else an Add of a constant right behind.
"""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.product import emit_product
from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.program import Tensor

MF = ("form", "sign_zero", "grid")
OPS = {
    "MatMul": "matmul",
    "MFMatMul": "mf_matmul",
    "AdderMatMul": "adder_matmul",
    "MinMatMul": "min_matmul",
    "ShiftMatMul": "shift_matmul",
}
"""The op of the program for each matrix product of the file."""


def mf_attributes(node: FileNode) -> dict[str, object]:
    """Return the attributes that every MF product has, as far as the node has them."""
    return {name: node.attributes[name] for name in MF if name in node.attributes}


def matmul(lowering: Lowering, node: FileNode) -> None:
    """MatMul and its relatives."""
    op, attributes = OPS[node.op], mf_attributes(node)
    x = lowering.tensor(node, 0)
    if lowering.is_activation(node, 1):
        lowering.emit(node, op, [x.name, lowering.tensor(node, 1).name], attributes)
        return
    weights = lowering.grid(node, 1, "the weights")
    shape = product_shape(x, weights)
    if op == "matmul":
        attributes["constant"] = weights.constant
    emit_product(lowering, node, op, x, weights, shape, attributes, axes=(len(shape) - 1, 1))


def gemm(lowering: Lowering, node: FileNode) -> None:
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


def product_shape(x: Tensor, weights: Grid) -> tuple[int, ...]:
    """Return the output shape of a product with constant weights."""
    if weights.codes.ndim != 2 or x.shape[-1] != weights.codes.shape[0]:
        raise ShapeError(
            f"x must end in K and constant weights must be [K, O], not {x.shape} and {weights.codes.shape}"
        )
    if weights.scale.axis == 0:
        raise UnsupportedOpError("the weights must have one scale, or one for each output, not for each input")
    return (*x.shape[:-1], weights.codes.shape[1])


RULES = {("", "Gemm"): gemm} | {("" if op == "MatMul" else "org.mfsim", op): matmul for op in OPS}
