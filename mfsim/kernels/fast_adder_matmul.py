"""adder_matmul, fast form: sums of distances in 16 bits where they fit, whole vectors of outputs at a time."""

from __future__ import annotations

from mfsim.kernels.term_product import prepared_matmul

FORMS = ("portable",)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if the sums are wider than 32 bits; `after` is the `Fit` of the sums."""
    return prepared_matmul(0, inputs, outputs, attributes, after)
