"""softmax: a division for each entry. Definition: mfsim/ops/softmax.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, divide, shift_left
from mfsim.kernels.softmaxes import at_least, opened, terms_and_sum


@kernel
def plain(x, seen, live, hidden, table, clamp, distances, terms, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        total = at_least(total, mask, table[0])
        twice = shift_left(total, 1)
        for i in range(x.shape[1]):
            y[r, i] = divide(addsub(shift_left(terms[i], fraction + 1), total, 1), twice) if row[i] else 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, 2, attributes, outputs)
    plain(*arguments, attributes["fraction"], y)
