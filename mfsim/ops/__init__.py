"""The ops of the integer program: one file each, collected in `REGISTRY`.

A file `mfsim/ops/<name>.py` with an `OP` is an op; adding the file adds the op.
"""

from __future__ import annotations

import importlib
import pkgutil

from mfsim.errors import UnsupportedOpError, did_you_mean
from mfsim.ops.op import Op


def _collect() -> dict[str, Op]:
    registry = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        op = getattr(importlib.import_module(f"{__name__}.{info.name}"), "OP", None)
        if op is not None:
            registry[op.name] = op
    return registry


REGISTRY: dict[str, Op] = _collect()
"""Every op by name."""


def get(name: str) -> Op:
    """Return the op called `name`; `UnsupportedOpError` names a close one."""
    if name not in REGISTRY:
        raise UnsupportedOpError(f"`{name}` is not an op of the integer program{did_you_mean(name, REGISTRY)}")
    return REGISTRY[name]
