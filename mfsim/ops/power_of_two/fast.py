"""Fast kernels of the products with power-of-two weights."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.gemm import direct, implicit, matmul
from mfsim.kernels.gemm.decomposition import Sums, dense_sums, kind_of, within
from mfsim.kernels.gemm.product import LAYOUTS, Int8Product, OperandTransform

# Products with power-of-two weights, prepared as int8 products: those of the weights as numbers.
#
# Weights of 2**7 and more are a second product, of weights that are 2**7 times smaller; its sums are shifted and added.

PLACES = 7

LARGEST = 1 << PLACES - 1
"""The largest power of two that is a signed byte with either sign."""


def power_sums(x, w, bias, y, run):
    """Return one or two `Sums` for weights w [k, n] that are powers of two with a sign, or 0; None if words are too wide.

    `x` and `y` are ranges (low, high); `bias` int64 [n]; `run` is that of an `Int8Product`.

    Parameters
    ----------
    x, y : tuple of int
        Ranges (low, high) of the left operand and of the sums, in codes.
    w : int64 array, shape (k, n)
        Each code 0 or a power of two with a sign.
    bias : int64 array, shape (n,)
        Added to the sums.
    run : int or None
        Operands of a row that lie together, a divisor of k.

    Returns
    -------
    list of Sums or None
        One product, or one of the small and one of the large weights, with its shift.
    """
    found = dense_sums(x, w, bias, y, run)
    if found is not None:
        return found
    small = np.where(np.abs(w) <= LARGEST, w, 0)
    large = (w - small) >> PLACES
    kind = kind_of(x, (-LARGEST, LARGEST))
    most = len(w) * 256 * LARGEST + int(np.abs(bias).max(initial=0))
    if kind is None or not within(large, (-LARGEST, LARGEST)) or most > 2**31 - 1:
        return None
    places = np.zeros(w.shape[1], np.int64), np.full(w.shape[1], PLACES)
    return [
        Sums(Int8Product([OperandTransform(kind)], small, bias, run), places[0]),
        Sums(Int8Product([OperandTransform(kind)], large, None, run), places[1]),
    ]


def _prepared_matmul(inputs, outputs, attributes, after):
    """Return a `run` of a matrix product, or None if some word is too wide."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return matmul.prepared(inputs, y, lambda w, bias, probe, run: power_sums(x, w, bias, y, run), after)


def _prepared_conv2d(inputs, outputs, attributes, after):
    """Return a `run` of a convolution; with `after` None if there is no int8 product of it."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    run = implicit.prepared(inputs, y, attributes, lambda w, bias, part, run: power_sums(x, w, bias, y, run), after)
    return run if run or after else direct.prepared(inputs, outputs, attributes, mf=False)


# shift_matmul, fast kernel: exact int8 products with the weights as numbers.

SHIFT_MATMUL_ISAS = tuple(LAYOUTS)


def prepare_shift_matmul(inputs, outputs, attributes, after=None):
    """Return a `run`, or None if some word is too wide; `after` is the `Epilogue` of the sums.

    Parameters
    ----------
    inputs : list of Operand
        x [..., K]; constant w [K, O]; perhaps a bias [O]; weights are 0 or powers of two with a sign; shapes
        are those of one sample.
    outputs : list of one Operand
        y [..., O], with its proved range.
    attributes : mapping
        Not used: the op has none.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    return _prepared_matmul(inputs, outputs, attributes, after)


# shift_conv2d, fast kernel: exact int8 products with the weights as numbers, or line by line.

SHIFT_CONV2D_ISAS = tuple(LAYOUTS)


def prepare_shift_conv2d(inputs, outputs, attributes, after=None):
    """Return a `run`; with `after`, the `Epilogue` of the sums, None if there is no int8 product of them.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W]; constant w [O, C / groups, rows, columns]; perhaps a bias [O]; weights are 0 or powers of
        two with a sign; shapes are those of one sample.
    outputs : list of one Operand
        y [O, H', W'], with its proved range.
    attributes : mapping
        Complete attributes: `strides`, `pads`, `dilations`, `groups`.
    after : Epilogue, optional
        What is done to the results before they are written; by default nothing.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns the overflows where `after` counts them, else None.
    """
    return _prepared_conv2d(inputs, outputs, attributes, after)
