"""soft_threshold, fast form: x less the nearest code of -t..t, many at a time."""

from __future__ import annotations

import functools
import math

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.words import least, most, sub, word_of

FORMS = ("portable",)


@functools.cache
def shrinking(word, across):
    """Return the kernel for x [rows, n]: a threshold for each column if `across`, else row r has number r % how many."""

    @kernel
    def shrink(x, upper, lower, y):
        for r in range(x.shape[0]):
            row, out, c = x[r], y[r], r % upper.size
            for i in range(row.size):
                code, k = word(row[i]), i if across else c
                out[i] = sub(code, most(least(code, upper[k]), lower[k]))

    return shrink


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands."""
    x, thresholds = inputs
    axis, channels = attributes["axis"], thresholds.codes.size
    inner = 1 if axis < 0 else math.prod(x.shape[axis:])
    word = word_of(x.low, x.high, -thresholds.high, thresholds.high)
    if word is None:
        return None
    upper = thresholds.codes.reshape(-1).astype(word)
    lower = np.negative(upper)
    across = channels > 1 and inner == 1
    shrink = shrinking(word, across)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        rows = x.size // channels if across else x.size // inner if channels > 1 else len(x)
        shape = (rows, x.size // max(rows, 1))
        shrink(x.reshape(shape), upper, lower, y.reshape(shape))

    return run
