"""Lowering rules: what becomes of each ONNX op.

A family's `lowering.py` has `RULES`, a dict from (domain, op) to a function `rule(lowering, node)`. Rules of ops that
the dialect of mfsim does not have, which only third-party files may use, stand in `FOREIGN_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable

from mfsim import ops
from mfsim.compiler.frontend import qlinear
from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.lowering import Lowering

Rule = Callable[[Lowering, FileNode], None]


def _collect(table: str) -> dict[tuple[str, str], Rule]:
    rules: dict[tuple[str, str], Rule] = {}
    for module in (*ops.realisations("lowering"), qlinear):
        rules |= getattr(module, table, {})
    return rules


RULES: dict[tuple[str, str], Rule] = _collect("RULES")
"""Every rule of the dialect by (domain, op); the domain of standard ops is ""."""

FOREIGN_RULES: dict[tuple[str, str], Rule] = _collect("FOREIGN_RULES")
"""Every rule for third-party files only."""
