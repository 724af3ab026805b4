"""The integer body of every op, from the `INTEGER_BODIES` of its family; see `mfsim.ops.integer_body`."""

from __future__ import annotations

from mfsim import ops
from mfsim.ops.integer_body import IntegerBody


def _collect() -> dict[str, IntegerBody]:
    bodies: dict[str, IntegerBody] = {}
    for file in ("onnx", "onnx_integer"):
        for module in ops.realisations(file):
            bodies |= module.INTEGER_BODIES if hasattr(module, "INTEGER_BODIES") else {}
    return {name: bodies[name] for name in sorted(bodies)}


BODIES: dict[str, IntegerBody] = _collect()
"""By op, its body in integer.onnx."""
