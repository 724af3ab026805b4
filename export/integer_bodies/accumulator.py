"""accumulator: the fit of the exact sum into its word."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import IntegerBody
from mfsim.export.integer_bodies.fitting import FIT_EXTRA, FIT_TEXT, fit_bits, fit_inputs

TEXT = """
  wide = Identity(x)
"""


def derived(node, inputs, outputs):
    return fit_inputs(node.attributes, inputs[0].range.low, inputs[0].range.high)


def needs_bits(node, inputs, outputs):
    return fit_bits(node.attributes)


BODY = IntegerBody(text=TEXT + FIT_TEXT, extra=FIT_EXTRA, derived=derived, needs_bits=needs_bits)
