"""Fast kernels of the ops that change a grid."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.rows.epilogue import fitting, requantizing
from mfsim.kernels.rows.packed import multiply_rows, scale_rows

# requantize, fast kernel: every rule of rounding as one formula, in the narrowest word that holds it.

REQUANTIZE_ISAS = ("portable",)


def prepare_requantize(inputs, outputs, attributes):
    """Return a `run` for these operands, or None if no word holds what is added before a shift.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `shift`, `axis`, `bits`, `signed`, `narrow`, `rounding`, `overflow`, `clamp`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs), which returns the overflows.
    """
    x, axis = inputs[0], attributes["axis"]
    fit = requantizing(x.low, x.high, attributes)
    return None if fit is None else fitting(fit, 1 if axis < 0 else math.prod(x.shape[axis:]))


# accumulator, fast kernel: that of requantize without a shift.

ACCUMULATOR_ISAS = ("portable",)

UNSHIFTED = {"shift": (0,), "rounding": "floor", "narrow": 0}


def prepare_accumulator(inputs, outputs, attributes):
    """Return a `run` for these operands.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `bits`, `signed`, `overflow`, `clamp`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs), which returns the overflows.
    """
    return fitting(requantizing(inputs[0].low, inputs[0].high, {**attributes, **UNSHIFTED}), 1)


# csd_gain, fast kernel: a product with each constant, which its signed digits are only another way to write.

CSD_GAIN_ISAS = ("portable",)


def prepare_csd_gain(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [...]; constant factors, one, or one for each channel; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `digits`, `axis`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
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
