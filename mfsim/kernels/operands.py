"""What a fast kernel is told of its operands before any code of them, and the words that codes are stored in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

STORED = (np.int8, np.uint8, np.int16, np.int32, np.int64)
"""The words that hold codes between fast kernels, the narrowest first."""

_LIMITS = [(word, int(np.iinfo(word).min), int(np.iinfo(word).max)) for word in STORED]


class Operand(NamedTuple):
    """An input or output of a node.

    Attributes
    ----------
    low, high : its proved range.
    shape : of one sample, or of a constant.
    codes : int64 codes of a constant, else None.
    """

    low: int
    high: int
    shape: tuple[int, ...]
    codes: np.ndarray | None = None


def stored(low: int, high: int) -> type[np.signedinteger[Any] | np.unsignedinteger[Any]]:
    """Return the narrowest of `STORED` that holds low..high, a range in int64.

    Parameters
    ----------
    low, high : int
        Ends of the range, both included, low <= high.

    Returns
    -------
    numpy integer type
        int8, uint8, int16, int32 or int64.
    """
    return next(word for word, least, greatest in _LIMITS if least <= low and high <= greatest)
