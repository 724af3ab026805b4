"""min_matmul: the sum of signed lesser magnitudes."""

from __future__ import annotations

from mfsim.export.integer_bodies.aligned import MATRIX_EXTRA, MIN, matrix_inputs, matrix_text
from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(text=matrix_text(MIN), extra=MATRIX_EXTRA, derived=matrix_inputs)
