"""Add, Sub of two activations, or of an activation and a constant; the op aligns the scales.

A constant without a Quant must lie on the scale of the activation; in a file of others it is rounded to a
finer grid, and so is an activation whose scale is no power of two away from the other. (An Add right behind a product is
the product's bias: mfsim/compiler/bias.py.)
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.broadcast import without_batch
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import on_one_grid, with_offset
from mfsim.formats import Scale
from mfsim.program import Tensor


def add(lowering: Lowering, node: FileNode) -> None:
    """Add and Sub; constant - x is -x + constant."""
    op = node.op.lower()
    if lowering.is_activation(node, 0) and lowering.is_activation(node, 1):
        pair = on_one_grid(lowering, node, [lowering.tensor(node, 0), lowering.tensor(node, 1)])
        lowering.emit(node, op, [tensor.name for tensor in pair])
        return
    k = 0 if lowering.is_activation(node, 0) else 1
    x = lowering.tensor(node, k)
    if not lowering.strict:
        _foreign(lowering, node, k, x)
        return
    constant = constant_beside(lowering, node, 1 - k, x)
    if op == "sub" and k == 1:
        lowering.emit(node, "add", [lowering.inner(node, "neg", [x.name]), constant])
    else:
        lowering.emit(node, op, [x.name, constant])


def _foreign(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> None:
    """Add or subtract any constant."""
    values = without_batch(lowering.array(node, 1 - k, "the constant"), x.shape, f"the constant `{node.inputs[1 - k]}`")
    if node.op == "Sub" and k == 1:
        x = lowering.builder.tensors[lowering.inner(node, "neg", [x.name])]
    with_offset(
        lowering,
        node,
        x,
        values,
        f"the constant `{node.inputs[1 - k]}`",
        "sub" if node.op == "Sub" and k == 0 else "add",
    )


def constant_beside(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> str:
    """Return the constant of input `k`, without batch axis, on one scale."""
    value = lowering.value(node, k)
    if isinstance(value, Grid):
        exponent = int(value.exponents.min()) if value.exponents.size else 0
        format_ = value.format if (value.exponents == exponent).all() else None
    else:
        exponent, format_ = x.scale.exponent, None
    codes = lowering.on_grid(node, k, exponent, "the constant")
    codes = np.ascontiguousarray(without_batch(codes, x.shape, f"the constant `{node.inputs[k]}`"))
    return lowering.constant(node.inputs[k], codes, Scale.of(exponent), format_)


RULES = {("", "Add"): add, ("", "Sub"): add}
