"""Shared shapes of the products."""

from __future__ import annotations

import numpy as np

# Shared shapes of the products.


def as_matrices(x, w, y):
    """Return x [G, M, K], a transposed copy of w [G, O, K] and y [G, M, O]; for constant weights [K, O] G is 1.

    Parameters
    ----------
    x : int64 array, shape (..., K)
        Codes of the left operand, C-contiguous.
    w : int64 array, shape (K, O) or (..., K, O)
        Codes of the right operand: constant weights, or one matrix for each leading index.
    y : int64 array, shape (..., O)
        Preallocated output, C-contiguous.

    Returns
    -------
    tuple of three int64 arrays
        Views of x and y, and the copy of w.
    """
    length, columns = w.shape[-2:]
    if w.ndim == 2:
        groups, rows = 1, y.size // columns
    else:
        groups, rows = int(np.prod(y.shape[:-2], dtype=np.int64)), y.shape[-2]
    transposed = np.array(w.reshape(-1, length, columns).swapaxes(1, 2), order="C")
    return x.reshape(groups, rows, length), transposed, y.reshape(groups, rows, columns)


def starts(bias):
    """Return a writeable copy of the bias in a list of 0 or 1 arrays, empty if there is none.

    Parameters
    ----------
    bias : list of int64 arrays, 0 or 1 of them
        The inputs of the op behind its weights; the bias has shape (O,), in LSBs of the sums.

    Returns
    -------
    int64 array, shape (O,) or (0,)
        The copy.
    """
    return np.array(bias[0] if bias else (), dtype=np.int64)


# What the kernels of the norms share: N q, the sums of a row, its root, and rounded quotients.
#
# Definitions: mfsim/ops/norm/definition.py, mfsim/ops/norm/root_norms.py. A row is the last axis.


def as_rows(codes):
    """Return `codes` as [rows, N].

    Parameters
    ----------
    codes : array, shape (..., N)
        Codes, C-contiguous; N at least 1.

    Returns
    -------
    array, shape (rows, N)
        A view.
    """
    return codes.reshape(-1, codes.shape[-1])


def row_scratch(codes):
    """Return room for one row of the type of `codes`.

    Parameters
    ----------
    codes : array, shape (..., N)
        Codes whose last axis is a row.

    Returns
    -------
    array, shape (N,)
        Not initialised.
    """
    return np.empty(codes.shape[-1], dtype=codes.dtype)
