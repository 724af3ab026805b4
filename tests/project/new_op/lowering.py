"""Compiler rule of half_step."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering


def half_step(lowering: Lowering, node: FileNode) -> None:
    """Emit half_step."""
    lowering.emit(node, "half_step", [lowering.tensor(node, 0).name])


RULES = {("org.mfsim", "HalfStep"): half_step}
