"""Lowering rules: what becomes of each ONNX op, in one file for each op or few ops of one kind.

A file `mfsim/compiler/rules/<name>.py` has `RULES`, a dict from (domain, op) to a function
`rule(lowering, node)`; adding the file adds the rules. Rules of ops that the dialect of mfsim does not
have, which only files of others may use, stand in `FOREIGN_RULES`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering

Rule = Callable[[Lowering, FileNode], None]


def _collect(table: str) -> dict[tuple[str, str], Rule]:
    rules: dict[tuple[str, str], Rule] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        rules.update(getattr(importlib.import_module(f"{__name__}.{info.name}"), table, {}))
    return rules


RULES: dict[tuple[str, str], Rule] = _collect("RULES")
"""Every rule of the dialect by (domain, op); the domain of standard ops is ""."""

FOREIGN_RULES: dict[tuple[str, str], Rule] = _collect("FOREIGN_RULES")
"""Every rule for files of others only."""
