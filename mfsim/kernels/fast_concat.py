"""concat, fast form: codes of any word, shifted where they lie in the result."""

from __future__ import annotations

import math

FORMS = ("portable",)


def prepare(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words."""
    return run


def run(inputs, attributes, outputs):
    """Put the inputs behind each other; a shift is done in the word of the result, which holds it."""
    axis, y = attributes["axis"], outputs[0]
    outer, start = math.prod(y.shape[:axis]), 0
    rows = y.reshape(outer, math.prod(y.shape[axis:]))
    for x, places in zip(inputs, attributes["shifts"], strict=True):
        part = rows[:, start : start + math.prod(x.shape[axis:])]
        part[...] = x.reshape(part.shape)
        if places > 0:
            part <<= places
        start += part.shape[1]
