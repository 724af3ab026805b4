"""tanh_l1, fast form: signed terms times one number for their row, in float64 and exact."""

from __future__ import annotations

from mfsim.kernels.row_weights import Terms, divided

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long."""
    terms = Terms.of_codes(inputs[0], inputs[1].codes, attributes["eps"])
    return divided(inputs, outputs, terms, attributes["fraction"])
