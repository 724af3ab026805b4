"""MFMul: the MF operator in place of an elementwise product."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rules.add import constant_beside
from mfsim.compiler.rules.matmul import mf_attributes


def mf_mul(lowering: Lowering, node: FileNode) -> None:
    """Emit mf_mul; the operator is symmetric, so a constant may stand on either side."""
    k = 0 if lowering.is_activation(node, 0) else 1
    x = lowering.tensor(node, k)
    if lowering.is_activation(node, 1 - k):
        w = lowering.tensor(node, 1 - k).name
    else:
        lowering.grid(node, 1 - k, "the weights")
        w = constant_beside(lowering, node, 1 - k, x)
    lowering.emit(node, "mf_mul", [x.name, w], mf_attributes(node))


RULES = {("org.mfsim", "MFMul"): mf_mul}
