"""Plain kernels of the Walsh-Hadamard transform: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub

# wht: in-place radix-2 butterflies over blocks of an axis. Definition: mfsim/ops/wht/wht.py.


@kernel
def _plain_wht(y, inner, n):
    """Transform, in place and in natural order, blocks of n codes that lie `inner` apart in flat y."""
    half = 1
    while half < n:
        for start in range(0, y.size, 2 * half * inner):
            for i in range(start, start + half * inner):
                left, right = y[i], y[i + half * inner]
                y[i] = addsub(left, right, 1)
                y[i + half * inner] = addsub(left, right, -1)
        half *= 2


def natural_rows(n, order):
    """Return the natural index of each row: for sequency the bit-reversed Gray code, for dyadic the reversed bits.

    Parameters
    ----------
    n : int
        Length of a block, a power of two.
    order : str
        "sequency" or "dyadic"; "natural" is not asked for.

    Returns
    -------
    int64 array, shape (n,)
        A permutation of 0..n-1.
    """
    q = n.bit_length() - 1
    index = np.arange(n)
    gray = index ^ (index >> 1) if order == "sequency" else index
    reverse = np.zeros(n, dtype=np.int64)
    for bit in range(q):
        reverse |= ((gray >> bit) & 1) << (q - 1 - bit)
    return reverse


def run_wht(inputs, attributes, outputs):
    """Fill the output of op `wht`: Walsh-Hadamard transforms.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...], transformed along the last `dims` axes.
    attributes : mapping
        Complete attributes: `block`, `dims`, `order`, `norm`, `inverse`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, y = inputs[0], outputs[0]
    y[...] = x
    for axis in range(x.ndim - 1, x.ndim - 1 - attributes["dims"], -1):
        n = attributes["block"] or x.shape[axis]
        inner = int(np.prod(x.shape[axis + 1 :], dtype=np.int64))
        _plain_wht(y.reshape(-1), inner, n)
        if attributes["order"] != "natural" and n > 1:
            blocks = y.reshape(-1, n, inner)
            blocks[...] = blocks[:, natural_rows(n, attributes["order"])]
