"""shift_matmul, fast form: exact int8 products with the weights as numbers."""

from __future__ import annotations

from mfsim.kernels.int8_product import LAYOUTS
from mfsim.kernels.power_products import prepared_matmul

FORMS = tuple(LAYOUTS)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if some word is too wide; `after` is the `Fit` of the sums."""
    return prepared_matmul(inputs, outputs, attributes, after)
