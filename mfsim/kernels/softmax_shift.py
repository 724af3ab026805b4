"""softmax_shift: the row sum rounded to a power of two. Definition: mfsim/ops/softmax_shift.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, shift_left, shift_right
from mfsim.kernels.search import reached, search_table
from mfsim.kernels.softmaxes import opened, terms_and_sum


@kernel
def plain(x, seen, live, hidden, table, clamp, distances, terms, thresholds, offset, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `offset` thresholds less F are always reached."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        places = addsub(reached(total, thresholds), offset, 1)
        half = shift_right(shift_left(1, places), 1)
        for i in range(x.shape[1]):
            y[r, i] = shift_right(addsub(terms[i], half, 1), places) if row[i] else 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, 3, attributes, outputs)
    least = inputs[1][0]
    always = int((inputs[2] <= least).sum())
    plain(*arguments, search_table(inputs[2][always:]), always - attributes["fraction"], y)
