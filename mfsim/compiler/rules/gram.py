"""Gram: products of the rows of one activation with each other."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering


def gram(lowering: Lowering, node: FileNode) -> None:
    """Emit gram."""
    lowering.emit(node, "gram", [lowering.tensor(node, 0).name], {})


RULES = {("org.mfsim", "Gram"): gram}
