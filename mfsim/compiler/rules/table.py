"""Table: a stated function of one code; table and first code are integers on the scales that are given."""

from __future__ import annotations

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering


def table(lowering: Lowering, node: FileNode) -> None:
    """Emit table; the stated scale of x must be its scale."""
    x = stated.scaled_input(lowering, node)
    codes = stated.table(lowering, node, 2, "the table")
    first = stated.integer(lowering, node, 3, "the first code")
    scale = stated.scale(lowering, node, 4, "the scale of the table")
    constant = lowering.constant(node.inputs[2], codes, scale)
    lowering.emit(node, "table", [x.name, constant], {"first": first})


RULES = {("org.mfsim", "Table"): table}
