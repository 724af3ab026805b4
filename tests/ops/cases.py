"""The conformance cases of every op: `tests/ops/<family>/cases.py` has a `cases_<op>()` for each."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from mfsim import ops
from mfsim.ops.op import Case


def cases_of(name: str) -> Iterator[Case]:
    """Return the conformance cases of the op `name`."""
    module = importlib.import_module(f"tests.ops.{ops.family_of(name)}.cases")
    return iter(getattr(module, f"cases_{name}")())
