"""The fast forms of add and sub: many sums at a time, in the narrowest word that holds them."""

from __future__ import annotations

import functools

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.words import add, sub, up, word_of


@functools.cache
def summing(word, mode):
    """Return the kernel that fills y with a * 2**places_a + mode * b * 2**places_b, row by row; b may have fewer rows."""

    @kernel
    def sum_rows(a, b, places_a, places_b, y):
        left, right = word(places_a), word(places_b)
        for r in range(a.shape[0]):
            one, other, out = a[r], b[r % b.shape[0]], y[r]
            for i in range(out.size):
                aligned, second = up(word(one[i]), left), up(word(other[i]), right)
                out[i] = add(aligned, second) if mode > 0 else sub(aligned, second)

    return sum_rows


def prepared(inputs, outputs, attributes, mode):
    """Return a `run` for these operands, or None if no word holds an aligned one."""
    a, b = inputs
    places = [attributes["shift_a"], attributes["shift_b"]]
    numbers = [
        end << shift for operand, shift in zip(inputs, places, strict=True) for end in (operand.low, operand.high)
    ]
    word = word_of(*numbers, outputs[0].low, outputs[0].high)
    if word is None:
        return None
    constant = None
    if b.codes is not None:
        aligned = np.broadcast_to(b.codes << places[1], a.shape).astype(word)
        constant, places[1] = np.ascontiguousarray(aligned).reshape(1, -1), 0
    sum_rows = summing(word, mode)

    def run(inputs, attributes, outputs):
        a, y = inputs[0], outputs[0]
        shape = (len(a), y.size // max(len(a), 1))
        b = inputs[1].reshape(shape) if constant is None else constant
        sum_rows(a.reshape(shape), b, *places, y.reshape(shape))

    return run
