"""Codes copied into the words that they are stored in, while their extremes are found."""

from __future__ import annotations

from mfsim.kernels.jit import kernel


@kernel
def narrow(source, target):
    """Fill flat `target` from flat `source`, of at least one code, and return the least and the greatest code."""
    lo, hi = source[0], source[0]
    for k in range(source.size):
        code = source[k]
        lo, hi = min(lo, code), max(hi, code)
        target[k] = code
    return lo, hi
