"""add: Add of the aligned operands."""

from __future__ import annotations

from mfsim.export.integer_bodies.alignment import ALIGNMENT_EXTRA, ALIGNMENT_TEXT, alignment_inputs
from mfsim.export.integer_bodies.body import IntegerBody

TEXT = (
    ALIGNMENT_TEXT
    + """
  y = Add(aligned_a, aligned_b)
"""
)

BODY = IntegerBody(text=TEXT, extra=ALIGNMENT_EXTRA, derived=alignment_inputs)
