"""rms_norm_recip, fast form: codes times the reciprocal of their root, in float64 and exact."""

from __future__ import annotations

from mfsim.kernels.row_norms import root_norm

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long."""
    return root_norm(inputs, outputs, attributes, centred=False)
