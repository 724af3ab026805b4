"""mf_matmul, fast form for words of 8 bits: an exact int8 product, with constant weights packed once."""

from __future__ import annotations

from mfsim.kernels.int8_matmul import prepared
from mfsim.kernels.int8_parts import mf_sums
from mfsim.kernels.int8_product import LAYOUTS

FORMS = tuple(LAYOUTS)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if some word is wider than 8 bits; `after` is the `Fit` of the sums."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return prepared(inputs, y, lambda w, bias, probe, run: mf_sums(x, w, bias, y, attributes, run, probe), after)
