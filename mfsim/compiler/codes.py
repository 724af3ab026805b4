"""Ops that move or choose stored codes between quantizers: they work on codes counted from the zero point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Coded, Lowering

MOVING = frozenset(
    ("Concat", "Flatten", "Identity", "MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
)
"""Standard ops that commute with subtracting a zero point."""


def moves_codes(lowering: Lowering, node: FileNode) -> bool:
    """Whether `node` only moves stored codes, all with one zero point and on one scale."""
    if node.domain or node.op not in MOVING:
        return False
    codes = _codes(lowering, node)
    return len({(code.zero_point, lowering.builder.tensors[code.name].scale) for code in codes.values()}) == 1


def move_codes(lowering: Lowering, node: FileNode, rule: Callable[[Lowering, FileNode], None]) -> None:
    """Lower `node` on the codes counted from their zero point."""
    codes, (output,) = _codes(lowering, node), node.outputs
    kept = {name: lowering.values[name] for name in codes}
    inner = lowering.inner_name(node, "codes")
    lowering.values.update({name: code.name for name, code in codes.items()})
    rule(lowering, replace(node, outputs=(inner,)))
    moved = lowering.values.pop(inner)
    assert isinstance(moved, str)
    lowering.values.update(kept)
    lowering.values[output] = Coded(moved, next(iter(codes.values())).zero_point)


def _codes(lowering: Lowering, node: FileNode) -> dict[str, Coded]:
    return {name: value for name in node.inputs if isinstance(value := lowering.values.get(name), Coded)}
