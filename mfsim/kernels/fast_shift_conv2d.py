"""shift_conv2d, fast form: exact int8 products with the weights as numbers, or line by line."""

from __future__ import annotations

from mfsim.kernels.int8_product import LAYOUTS
from mfsim.kernels.power_products import prepared_conv2d

FORMS = tuple(LAYOUTS)


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run`; with `after`, the `Fit` of the sums, None if there is no int8 product of them."""
    return prepared_conv2d(inputs, outputs, attributes, after)
