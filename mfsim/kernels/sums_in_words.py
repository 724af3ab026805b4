"""The fast forms of add and sub: many sums at a time, in the narrowest word that holds them, and perhaps fitted."""

from __future__ import annotations

import functools

import numpy as np

from mfsim.kernels.fits import AS_THEY_ARE, PLAIN, fit_one, one_rule
from mfsim.kernels.jit import kernel
from mfsim.kernels.words import WORDS, add, sub, up, word_of


@functools.cache
def summing(word, mode, how):
    """Return the kernel that fills y with a * 2**places_a + mode * b * 2**places_b, row by row; b may have fewer rows.

    Sums are fitted as `after` says, whose `how` is given; it returns the misfits.
    """
    fits, plain = how != AS_THEY_ARE, how == PLAIN

    @kernel
    def sum_rows(a, b, places_a, places_b, after, y):
        left, right, lo, hi, kept = word(places_a), word(places_b), after.lo, after.hi, after.kept
        rules, events = after.rules, 0
        shift, places, added, odd, below, floor = rules[0], rules[1], rules[2], rules[3], rules[4], rules[5]
        for r in range(a.shape[0]):
            one, other, out, found = a[r], b[r % b.shape[0]], y[r], word(0)
            for i in range(out.size):
                aligned, second = up(word(one[i]), left), up(word(other[i]), right)
                total = add(aligned, second) if mode > 0 else sub(aligned, second)
                if fits:
                    code, total = fit_one(plain, total, shift, places, added, odd, below, floor, lo, hi, kept)
                    found = add(found, word(code != total))
                out[i] = total
            events += found
        return events

    return sum_rows


def prepared(inputs, outputs, attributes, mode, after):
    """Return a `run` for these operands, fitted as `after` says if it is a `Fit`, or None if no word or rule will do."""
    a, b = inputs
    places = [attributes["shift_a"], attributes["shift_b"]]
    numbers = [
        end << shift for operand, shift in zip(inputs, places, strict=True) for end in (operand.low, operand.high)
    ]
    word = word_of(*numbers, outputs[0].low, outputs[0].high)
    if word is None or (after and after.rules.shape[1] > 1):
        return None
    word = max(word, after.word, key=WORDS.index) if after else word
    constant = None
    if b.codes is not None:
        aligned = np.broadcast_to(b.codes << places[1], a.shape).astype(word)
        constant, places[1] = np.ascontiguousarray(aligned).reshape(1, -1), 0
    rule = one_rule(after, word)
    sum_rows = summing(word, mode, rule.how)

    def run(inputs, attributes, outputs):
        a, y = inputs[0], outputs[0]
        shape = (len(a), y.size // max(len(a), 1))
        b = inputs[1].reshape(shape) if constant is None else constant
        events = sum_rows(a.reshape(shape), b, *places, rule, y.reshape(shape))
        return events if after and after.events else None

    return run
