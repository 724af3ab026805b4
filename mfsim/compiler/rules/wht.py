"""WHT: Walsh-Hadamard transform; the attributes are those of the op."""

from __future__ import annotations

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering


def wht(lowering: Lowering, node: FileNode) -> None:
    """Emit the transform with the attributes of the node."""
    lowering.emit(node, "wht", [lowering.tensor(node, 0).name], node.attributes)


RULES = {("org.mfsim", "WHT"): wht}
