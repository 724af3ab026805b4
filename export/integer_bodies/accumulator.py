"""accumulator: the fit of the exact sum into its word."""

from __future__ import annotations

from mfsim.export.integer_bodies.body import Arrays, IntegerBody, Tensors, attributes_of
from mfsim.export.integer_bodies.fitting import FIT_EXTRA, FIT_TEXT, fit_inputs
from mfsim.program import Node

TEXT = """
  wide = Identity(x)
"""


def derived(node: Node, inputs: Tensors, outputs: Tensors) -> Arrays:
    return fit_inputs(attributes_of(node), inputs[0].range.low, inputs[0].range.high)


BODY = IntegerBody(text=TEXT + FIT_TEXT, extra=FIT_EXTRA, derived=derived)
