"""Products with power-of-two weights, prepared as int8 products: those of the weights as numbers.

Weights of 2**7 and more are a second product, of weights that are 2**7 times smaller; its sums are shifted and added.
"""

from __future__ import annotations

import numpy as np

from mfsim.kernels import int8_matmul, int8_windows, line_windows
from mfsim.kernels.int8_parts import Sums, dense_sums, kind_of, within
from mfsim.kernels.int8_product import Int8Product, Part

PLACES = 7
LARGEST = 1 << PLACES - 1
"""The largest power of two that is a signed byte with either sign."""


def power_sums(x, w, bias, y, run):
    """Return one or two `Sums` for weights w [k, n] that are powers of two with a sign, or 0; None if words are too wide.

    `x` and `y` are ranges (low, high); `bias` int64 [n]; `run` is that of an `Int8Product`.
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
        Sums(Int8Product([Part(kind)], small, bias, run), places[0]),
        Sums(Int8Product([Part(kind)], large, None, run), places[1]),
    ]


def prepared_matmul(inputs, outputs, attributes, after):
    """Return a `run` of a matrix product, or None if some word is too wide."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    return int8_matmul.prepared(inputs, y, lambda w, bias, probe, run: power_sums(x, w, bias, y, run), after)


def prepared_conv2d(inputs, outputs, attributes, after):
    """Return a `run` of a convolution; with `after` None if there is no int8 product of it."""
    x, y = ((operand.low, operand.high) for operand in (inputs[0], outputs[0]))
    run = int8_windows.prepared(inputs, y, attributes, lambda w, bias, part, run: power_sums(x, w, bias, y, run), after)
    return run if run or after else line_windows.prepared(inputs, outputs, attributes, mf=False)
