"""soft_threshold, fast form: x less the nearest code of -t..t, many at a time."""

from __future__ import annotations

import functools
import math

import numpy as np

from mfsim.kernels.fits import AS_THEY_ARE, PLAIN, fit_one, one_rule
from mfsim.kernels.jit import kernel
from mfsim.kernels.words import WORDS, add, least, most, sub, word_of

FORMS = ("portable",)


@functools.cache
def shrinking(word, across, how):
    """Return the kernel for x [rows, n]: a threshold for each column if `across`, else row r has number r % how many.

    Codes are fitted as `after` says, whose `how` is given; it returns the misfits.
    """
    fits, plain = how != AS_THEY_ARE, how == PLAIN

    @kernel
    def shrink(x, upper, lower, after, y):
        lo, hi, kept, rules, events = after.lo, after.hi, after.kept, after.rules, 0
        shift, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
        for r in range(x.shape[0]):
            row, out, c, found = x[r], y[r], r % upper.size, word(0)
            for i in range(row.size):
                code, k = word(row[i]), i if across else c
                shrunk = sub(code, most(least(code, upper[k]), lower[k]))
                if fits:
                    code, shrunk = fit_one(plain, shrunk, shift, places, added, odd, below, floor, lo, hi, kept)
                    found = add(found, word(code != shrunk))
                out[i] = shrunk
            events += found
        return events

    return shrink


def prepare(inputs, outputs, attributes, after=None):
    """Return a `run` for these operands, fitted as `after` says if it is a `Fit`, or None if no word or rule will do."""
    x, thresholds = inputs
    axis, channels = attributes["axis"], thresholds.codes.size
    inner = 1 if axis < 0 else math.prod(x.shape[axis:])
    word = word_of(x.low, x.high, -thresholds.high, thresholds.high)
    if word is None or (after and after.rules.shape[1] > 1):
        return None
    word = max(word, after.word, key=WORDS.index) if after else word
    upper = thresholds.codes.reshape(-1).astype(word)
    lower = np.negative(upper)
    across = channels > 1 and inner == 1
    rule = one_rule(after, word)
    shrink = shrinking(word, across, rule.how)

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        rows = x.size // channels if across else x.size // inner if channels > 1 else len(x)
        shape = (rows, x.size // max(rows, 1))
        events = shrink(x.reshape(shape), upper, lower, rule, y.reshape(shape))
        return events if after and after.events else None

    return run
