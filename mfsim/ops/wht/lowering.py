"""Compiler rules of the Walsh-Hadamard transform."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering

# WHT: Walsh-Hadamard transform; the attributes are those of the op.


def _wht(lowering: Lowering, node: FileNode) -> None:
    """Emit the transform with the attributes of the node."""
    lowering.emit(node, "wht", [lowering.tensor(node, 0).name], node.attributes)


WHT_RULES = {("org.mfsim", "WHT"): _wht}

RULES = WHT_RULES
