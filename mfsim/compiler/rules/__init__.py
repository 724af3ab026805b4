"""Lowering rules: what becomes of each ONNX op, in one file for each op or few ops of one kind.

A file `mfsim/compiler/rules/<name>.py` has `RULES`, a dict from (domain, op) to a function
`rule(lowering, node)`; adding the file adds the rules.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering

Rule = Callable[[Lowering, FileNode], None]


def _collect() -> dict[tuple[str, str], Rule]:
    rules = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        rules.update(importlib.import_module(f"{__name__}.{info.name}").RULES)
    return rules


RULES: dict[tuple[str, str], Rule] = _collect()
"""Every rule by (domain, op); the domain of standard ops is ""."""
