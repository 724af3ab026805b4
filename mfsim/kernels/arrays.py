"""Shared shapes of the products."""

from __future__ import annotations

import numpy as np

# Shared shapes of the products.


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


# What the kernels of the norms share: N q, the sums of a row, its root, and rounded quotients.
#
# Definitions: mfsim/ops/norm/definition.py, mfsim/ops/norm/root_norms.py. A row is the last axis.


def as_rows(codes):
    """Return `codes` as [rows, N]."""
    return codes.reshape(-1, codes.shape[-1])


def row_scratch(codes):
    """Return room for one row of the type of `codes`."""
    return np.empty(codes.shape[-1], dtype=codes.dtype)
