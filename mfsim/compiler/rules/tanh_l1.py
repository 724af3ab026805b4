"""TanhL1 and TanhL1Shift, with or without a mask: table, eps and thresholds are derived integers."""

from __future__ import annotations

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.masks import mask_input
from mfsim.formats import Scale


def _tanh_l1(lowering: Lowering, node: FileNode, op: str, shift: bool) -> None:
    x = stated.scaled_input(lowering, node)
    codes = stated.table(lowering, node, 2, "the table of tanh")
    inputs = [x.name, lowering.constant(node.inputs[2], codes, Scale())]
    attributes = {"eps": stated.integer(lowering, node, 3, "eps")}
    if shift:
        inputs.append(lowering.constant(node.inputs[4], stated.table(lowering, node, 4, "the thresholds"), Scale()))
    last = 4 + shift
    attributes["fraction"] = -stated.power(lowering, node, last, "the scale of the result")
    if len(node.inputs) > last + 1:
        inputs.append(mask_input(lowering, node, last + 1, x))
    lowering.emit(node, op, inputs, attributes)


def tanh_l1(lowering: Lowering, node: FileNode) -> None:
    """Emit tanh_l1."""
    _tanh_l1(lowering, node, "tanh_l1", shift=False)


def tanh_l1_shift(lowering: Lowering, node: FileNode) -> None:
    """Emit tanh_l1_shift."""
    _tanh_l1(lowering, node, "tanh_l1_shift", shift=True)


RULES = {
    ("org.mfsim", f"{masked}{name}"): rule
    for name, rule in {"TanhL1": tanh_l1, "TanhL1Shift": tanh_l1_shift}.items()
    for masked in ("", "Masked")
}
