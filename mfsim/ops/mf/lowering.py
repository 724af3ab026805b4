"""Compiler rules of the multiplication-free products."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import constant_beside
from mfsim.compiler.lower.product_rules import conv_rule, matmul_rule, stated_attributes

# MFMul: the MF operator in place of an elementwise product.


def _mf_mul(lowering: Lowering, node: FileNode) -> None:
    """Emit mf_mul; the operator is symmetric, so a constant may stand on either side."""
    k = 0 if lowering.is_activation(node, 0) else 1
    x = lowering.tensor(node, k)
    if lowering.is_activation(node, 1 - k):
        w = lowering.tensor(node, 1 - k).name
    else:
        lowering.grid(node, 1 - k, "the weights")
        w = constant_beside(lowering, node, 1 - k, x)
    lowering.emit(node, "mf_mul", [x.name, w], stated_attributes("mf_mul", node))


RULES = {
    ("org.mfsim", "MFConv"): conv_rule("mf_conv2d"),
    ("org.mfsim", "MFMatMul"): matmul_rule("mf_matmul"),
    ("org.mfsim", "MFMul"): _mf_mul,
}
