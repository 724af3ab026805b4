"""tanh_l1_shift, fast form: signed terms times a power of two for their row, in float64 and exact."""

from __future__ import annotations

from mfsim.kernels.row_weights import Terms, shifted

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long."""
    terms = Terms.of_codes(inputs[0], inputs[1].codes, attributes["eps"])
    return shifted(inputs, outputs, terms, attributes["fraction"])
