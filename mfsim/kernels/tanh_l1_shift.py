"""tanh_l1_shift: the divisor rounded to a power of two. Definition: mfsim/ops/tanh_l1_shift.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.masks import mask_rows
from mfsim.kernels.primitives import addsub, shift_left, shift_right
from mfsim.kernels.search import reached, search_table
from mfsim.kernels.tanh_l1s import opened, terms_and_divisor, with_sign


@kernel
def plain(x, seen, live, eps, table, clamp, terms, thresholds, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        exponent = reached(terms_and_divisor(x[r], row, mask, eps, table, clamp, terms), thresholds)
        half, places = shift_left(1, exponent), addsub(exponent, 1, 1)
        for i in range(x.shape[1]):
            if row[i]:
                quotient = shift_right(addsub(shift_left(terms[i], fraction + 1), half, 1), places)
                y[r, i] = with_sign(quotient, x[r, i])
            else:
                y[r, i] = 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, mask_rows(inputs[0], inputs[3:]), attributes, outputs)
    plain(*arguments, search_table(inputs[2]), attributes["fraction"], y)
