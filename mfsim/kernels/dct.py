"""dct: Lee's cosine transform of rows in fixed point. Definition: mfsim/ops/dct.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.csd_gain import digits_of, product
from mfsim.kernels.fixed_point import rounded
from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, scratch
from mfsim.kernels.primitives import addsub, mul, shift_left


@kernel
def _multiplied(code, table, k, digits, bits):
    """Return a code times multiplier k, rounded; `digits` is empty where products are multiplications."""
    if table[k] == table[0]:
        return code
    places, signs, counts = digits
    if counts.size:
        return rounded(product(code, places[k], signs[k], counts[k]), -bits)
    return rounded(mul(code, table[k]), -bits)


@kernel
def _split(table, digits, bits, m, v, w):
    """Fill w with the sums and the multiplied differences of each block of m codes of v."""
    half, row = m // 2, 1 + 2 * (v.size - m)
    for base in range(0, v.size, m):
        for i in range(half):
            first, last = v[base + i], v[base + m - 1 - i]
            w[base + i] = addsub(first, last, 1)
            k = row + i + (half if base > 0 else 0)
            w[base + half + i] = _multiplied(addsub(first, last, -1), table, k, digits, bits)


@kernel
def _join(m, v, w):
    """Fill w with the outputs of each block of m codes from those of its halves in v."""
    half = m // 2
    for base in range(0, v.size, m):
        for k in range(half):
            odd = base + half + k
            w[base + 2 * k] = v[base + k]
            w[base + 2 * k + 1] = addsub(v[odd], v[odd + 1], 1) if k + 1 < half else v[odd]


@kernel
def plain(x, table, digits, bits, guard, shift, odd, v, w, y):
    """Take x and y [rows, n]; v and w hold one row each."""
    n = v.size
    for r in range(x.shape[0]):
        for i in range(n):
            v[i] = shift_left(x[r, i], guard) if guard > 0 else x[r, i]
        m = n
        while m > 1:
            _split(table, digits, bits, m, v, w)
            v[:] = w
            m //= 2
        if odd:
            v[0] = _multiplied(v[0], table, table.size - 1, digits, bits)
        m = 4
        while m <= n:
            _join(m, v, w)
            v[:] = w
            m *= 2
        for i in range(n):
            y[r, i] = rounded(v[i], shift)


def run(inputs, attributes, outputs):
    x, table = inputs[0], np.array(inputs[1])
    digits = digits_of(table if attributes["products"] == "shift" else table[:0])
    plain(
        as_rows(x),
        table,
        digits,
        int(table[0]).bit_length() - 1,
        attributes["guard"],
        attributes["shift"],
        x.shape[-1].bit_length() % 2 == 0,
        scratch(x),
        scratch(x),
        as_rows(outputs[0]),
    )
