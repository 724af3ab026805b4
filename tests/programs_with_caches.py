"""A program of one step that is small enough to work out by hand."""

from __future__ import annotations

import numpy as np

from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Program, Tensor

TABLE = np.array([[1, -2], [3, 4], [-5, 6]])
"""Rows of three tokens."""


def numbers(builder: ProgramBuilder, name: str, count: int) -> str:
    return builder.input_tensor(
        Tensor(name, (1, 1), Format.of_range(0, count - 1, name), Scale(), Range.of(0, count - 1))
    )


def remembering(metadata: dict[str, str] | None = None, extra: bool = False) -> Program:
    """Return a program whose logits are what its cache of three rows holds, and the row of its token behind."""
    builder = ProgramBuilder()
    ids, position = numbers(builder, "ids", 3), numbers(builder, "position", 4)
    cache = builder.input("cache", (3, 2), Format(4))
    row = builder.node("embedding", [ids, builder.constant("table", TABLE, Format(4))], outputs=["row"])
    logits = builder.node("concat", [cache, row], {"axis": 1}, outputs=["logits"])
    outputs = [logits, row]
    if extra:
        outputs.append(builder.node("neg", [builder.input("other", (2,), Format(3))]))
    given = {"cache.cache": "row", "position": position}
    return builder.finish(outputs, given if metadata is None else metadata)
