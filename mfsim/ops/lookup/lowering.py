"""Compiler rules of the lookups."""

from __future__ import annotations

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import scaled_input, stated_integer, stated_scale, stated_table

# Table: a stated function of one code; table and first code are integers on the scales that are given.


def _table(lowering: Lowering, node: FileNode) -> None:
    """Emit table; the stated scale of x must be its scale."""
    x = scaled_input(lowering, node)
    codes = stated_table(lowering, node, 2, "the table")
    first = stated_integer(lowering, node, 3, "the first code")
    scale = stated_scale(lowering, node, 4, "the scale of the table")
    constant = lowering.constant(node.inputs[2], codes, scale)
    lowering.emit(node, "table", [x.name, constant], {"first": first})


TABLE_RULES = {("org.mfsim", "Table"): _table}

RULES = TABLE_RULES
