"""sub, fast form."""

from __future__ import annotations

from mfsim.kernels.sums_in_words import prepared

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands, or None if no word holds an aligned one."""
    return prepared(inputs, outputs, attributes, -1)
