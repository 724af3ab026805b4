"""Mul: the element-wise product of two activations, or of one and a quantized constant; else a change of scale."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rules.add import constant_beside
from mfsim.compiler.rules.shift import shift


def mul(lowering: Lowering, node: FileNode) -> None:
    """Emit mul, or the rule of `Shift` for constants that no Quant has touched, and in files of others for all."""
    k = 0 if lowering.is_activation(node, 0) else 1
    if lowering.is_activation(node, 1 - k):
        lowering.emit(node, "mul", [lowering.tensor(node, 0).name, lowering.tensor(node, 1).name])
    elif lowering.strict and isinstance(lowering.value(node, 1 - k), Grid):
        x, kind = lowering.tensor(node, k), lowering.grid(node, 1 - k, "the constant").constant
        lowering.emit(node, "mul", [x.name, constant_beside(lowering, node, 1 - k, x)], {"constant": kind})
    else:
        shift(lowering, node)


RULES = {("", "Mul"): mul}
