"""What the kernels of tanh-l1 share: the terms of a row and their divisor. Definition: mfsim/ops/tanh_l1s.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import absolute, addsub, host_by_sign, host_index, less, lookup, negate, select


@kernel
def terms_and_divisor(x, seen, live, eps, table, clamp, terms):
    """Fill `terms` of one row where `seen` is not 0 and return eps plus their sum; `live` hides by codes, or is empty."""
    total, last = eps, table.size - 1
    for i in range(x.size):
        if seen[i]:
            magnitude = absolute(x[i])
            index = select(less(last, magnitude), last, magnitude) if clamp else magnitude
            term = lookup(table, host_index(index))
            if live.size > 0:
                term = select(live[i], term, 0)
            terms[i] = term
            total = addsub(total, term, 1)
    return total


@kernel
def with_sign(quotient, code):
    """Return the quotient, negated where `code` is negative."""
    return negate(quotient, host_by_sign(code, -1, 1))


def opened(inputs, masks, attributes, outputs):
    """Return x, seen and live as rows, eps, the table, `clamp` and room for one row; y as rows."""
    x = inputs[0]
    length = x.shape[-1]
    terms = np.empty(length, dtype=x.dtype)
    table, clamp = np.array(inputs[1]), attributes["clamp"] == "high"
    return (x.reshape(-1, length), *masks, attributes["eps"], table, clamp, terms), outputs[0].reshape(-1, length)
