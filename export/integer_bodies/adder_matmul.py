"""adder_matmul: minus the sum of magnitudes of differences."""

from __future__ import annotations

from mfsim.export.integer_bodies.aligned import ADDER, MATRIX_EXTRA, matrix_inputs, matrix_text
from mfsim.export.integer_bodies.body import IntegerBody

BODY = IntegerBody(text=matrix_text(ADDER), extra=MATRIX_EXTRA, derived=matrix_inputs)
