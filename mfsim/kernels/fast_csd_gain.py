"""csd_gain, fast form: a product with each constant, which its signed digits are only another way to write."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.word_products import multiply_rows, scale_rows

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words."""
    shape, constants, axis = inputs[0].shape, np.array(inputs[1].codes), attributes["axis"]
    size = math.prod(shape)
    inner = math.prod(shape[axis:]) if axis >= 0 else size
    across = inner == 1 and constants.size > 1
    rows = constants.reshape(1, -1)
    length = constants.size if across else inner

    def run(inputs, attributes, outputs):
        x, y = (array.reshape(len(array) * size // length, length) for array in (inputs[0], outputs[0]))
        if across:
            multiply_rows(x, rows, y)
        else:
            scale_rows(x, rows[0], y)

    return run
