"""softmax_recip: one division for each row, then products. Definition: mfsim/ops/softmax_recip.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, divide, mul, shift_right
from mfsim.kernels.softmaxes import at_least, opened, terms_and_sum


@kernel
def plain(x, seen, live, hidden, table, clamp, distances, terms, power, places, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `places` is K - F."""
    half = 1 << (places - 1)
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        inverse = divide(1 << power, at_least(total, mask, table[0]))
        for i in range(x.shape[1]):
            y[r, i] = shift_right(addsub(mul(terms[i], inverse), half, 1), places) if row[i] else 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, 2, attributes, outputs)
    plain(*arguments, attributes["reciprocal"], attributes["reciprocal"] - attributes["fraction"], y)
