"""shift_norm_l2, fast form: centred codes times a power of two for their row, in float64 and exact."""

from __future__ import annotations

from mfsim.kernels.row_norms import SPREAD, shift_norm

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long."""
    return shift_norm(inputs, outputs, attributes, SPREAD)
