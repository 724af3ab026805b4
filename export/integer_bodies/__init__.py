"""The integer realisations of the ops: one file each, named like the op, collected in `BODIES`."""

from __future__ import annotations

import importlib
import pkgutil

from mfsim.export.integer_bodies.body import IntegerBody


def _collect() -> dict[str, IntegerBody]:
    bodies = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda item: item.name):
        body = getattr(importlib.import_module(f"{__name__}.{info.name}"), "BODY", None)
        if body is not None:
            bodies[info.name] = body
    return bodies


BODIES: dict[str, IntegerBody] = _collect()
"""Every body by the name of its op."""
