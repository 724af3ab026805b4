"""tanh_l1: a division for each entry. Definition: mfsim/ops/tanh_l1.py."""

from __future__ import annotations

from mfsim.kernels.jit import kernel
from mfsim.kernels.masks import mask_rows
from mfsim.kernels.primitives import addsub, divide, shift_left
from mfsim.kernels.tanh_l1s import opened, terms_and_divisor, with_sign


@kernel
def plain(x, seen, live, eps, table, clamp, terms, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = terms_and_divisor(x[r], row, mask, eps, table, clamp, terms)
        twice = shift_left(total, 1)
        for i in range(x.shape[1]):
            if row[i]:
                y[r, i] = with_sign(divide(addsub(shift_left(terms[i], fraction + 1), total, 1), twice), x[r, i])
            else:
                y[r, i] = 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, mask_rows(inputs[0], inputs[2:]), attributes, outputs)
    plain(*arguments, attributes["fraction"], y)
