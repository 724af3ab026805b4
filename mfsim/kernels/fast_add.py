"""add, fast form."""

from __future__ import annotations

from mfsim.kernels.sums_in_words import prepared

FORMS = ("portable",)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands, or None if no word holds an aligned one; `after` is the `Fit` of the sums."""
    return prepared(inputs, outputs, attributes, 1, after)
