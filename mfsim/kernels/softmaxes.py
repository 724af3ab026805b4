"""What the kernels of softmax share: the terms of a row and their sum. Definition: mfsim/ops/softmaxes.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.masks import mask_rows
from mfsim.kernels.primitives import addsub, host_index, less, lookup, select


@kernel
def terms_and_sum(x, seen, live, hidden, table, clamp, distances, terms):
    """Fill `distances` and `terms` of one row where `seen` is not 0 and return the sum of terms.

    `live` is a mask of codes, or empty; what it hides becomes `hidden` for the maximum, and its term 0.
    """
    greatest, started = hidden, False
    for i in range(x.size):
        if seen[i]:
            code = select(live[i], x[i], hidden) if live.size > 0 else x[i]
            distances[i] = code
            greatest = select(less(greatest, code), code, greatest) if started else code
            started = True
    total, started, last = 0, False, table.size - 1
    for i in range(x.size):
        if seen[i]:
            distance = addsub(greatest, distances[i], -1)
            distances[i] = distance
            index = select(less(last, distance), last, distance) if clamp else distance
            term = lookup(table, host_index(index))
            if live.size > 0:
                term = select(live[i], term, 0)
            terms[i] = term
            total = addsub(total, term, 1) if started else term
            started = True
    return total


@kernel
def at_least(total, live, least):
    """Return a sum, raised to `least` if a mask of codes may have hidden the whole row."""
    return select(less(total, least), least, total) if live.size > 0 else total


def opened(inputs, without, attributes, outputs):
    """Return x, seen, live as rows, the code of what is hidden, the table, `clamp` and room for one row; y as rows.

    `without` is the number of inputs before the mask.
    """
    x, table = inputs[0], np.array(inputs[1])
    length = x.shape[-1]
    seen, live = mask_rows(x, inputs[without:])
    rooms = np.empty((2, length), dtype=x.dtype)
    return (
        (x.reshape(-1, length), seen, live, attributes["hidden"], table, attributes["clamp"] == "high", *rooms),
        outputs[0].reshape(-1, length),
    )
