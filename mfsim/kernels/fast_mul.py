"""mul, fast form: products in the word of the result."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.word_products import multiply_rows

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words."""
    shape, constant = inputs[0].shape, inputs[1].codes
    size = math.prod(shape)
    spread = None if constant is None else np.array(np.broadcast_to(constant, shape)).reshape(1, size)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        w = inputs[1].reshape(len(y), size) if spread is None else spread
        multiply_rows(x.reshape(len(y), size), w, y.reshape(len(y), size))

    return run
