"""What functions of rows share: the fraction of a result, rows of codes, how many rows a tensor has."""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError
from mfsim.ops.op import Attribute, size

FRACTION = Attribute("fraction", "int", "F: the result lies on the grid 2^-F")


def check_fraction(op: str, fraction: int, least: int) -> None:
    """Raise `FormatError` unless F is in least..31.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    fraction : int
        F, in bits.
    least : int
        Smallest F that the op allows.

    Raises
    ------
    FormatError
        If F lies outside.
    """
    if not least <= fraction <= 31:
        raise FormatError(f"`fraction` of op `{op}` must be in {least}..31, not {fraction}")


def by_rows(x: np.ndarray, function) -> np.ndarray:
    """Return the result of `function` (list of ints to list of ints) on each row of x.

    Parameters
    ----------
    x : integer array, shape (..., n)
        Codes.
    function : callable
        List of n Python ints to list of n ints.

    Returns
    -------
    object array, shape (..., n)
        Python ints.
    """
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(*x.shape[:-1]):
        out[index] = function([int(code) for code in x[index]])
    return out


def row_count(x) -> int:
    """Return the number of rows of one sample.

    Parameters
    ----------
    x : Tensor
        Shape, batch axis first; rows lie along the last axis.

    Returns
    -------
    int
        Rows.
    """
    return size(x.shape) // int(x.shape[-1])
