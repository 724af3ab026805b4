"""softmax_recip, fast form: terms times the reciprocal of their row, in float64 and exact."""

from __future__ import annotations

import math

from mfsim.kernels.quotients import RECIPROCAL, Quotient
from mfsim.kernels.row_weights import Terms, prepared

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long."""
    fraction, power = attributes["fraction"], attributes["reciprocal"]
    terms = Terms.of_distances(inputs[0], inputs[1].codes)
    # A term times the reciprocal of a sum that holds it is at most 2**power.
    numerator = (1 << power) + (1 << power - fraction - 1)
    return prepared(
        inputs, outputs, 2, terms, Quotient(RECIPROCAL, math.ldexp(1.0, fraction - power), power), numerator
    )
