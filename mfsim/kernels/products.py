"""Shared shapes of the products."""

from __future__ import annotations

import numpy as np


def as_matrices(x, w, y):
    """Return x [G, M, K], a transposed copy of w [G, O, K] and y [G, M, O]; for constant weights [K, O] G is 1."""
    length, columns = w.shape[-2:]
    if w.ndim == 2:
        groups, rows = 1, y.size // columns
    else:
        groups, rows = int(np.prod(y.shape[:-2], dtype=np.int64)), y.shape[-2]
    transposed = np.array(w.reshape(-1, length, columns).swapaxes(1, 2), order="C")
    return x.reshape(groups, rows, length), transposed, y.reshape(groups, rows, columns)


def starts(bias):
    """Return a writeable copy of the bias in a list of 0 or 1 arrays, empty if there is none."""
    return np.array(bias[0] if bias else (), dtype=np.int64)
