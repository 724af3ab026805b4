"""embedding: Gather of rows; codes that number them never leave the table."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(
    text="""
  y = Gather<axis: int = 0>(rows, x)
""",
)
