"""Cycle model of the pipelined Walsh-Hadamard transform: what each stage does to its words."""

from __future__ import annotations

import numpy as np


def stage(words: np.ndarray, half: int) -> np.ndarray:
    """Return one butterfly stage: sums and differences of the words [lanes, n] that lie `half` apart.

    Parameters
    ----------
    words : int64 array, shape (lanes, n), n a power of two
        Words of the stage before.
    half : int, a power of two below n
        Distance of the two words of a butterfly.

    Returns
    -------
    int64 array, shape (lanes, n)
        The sum in the place of the first word, the difference in that of the second.
    """
    pairs = words.reshape(len(words), -1, 2, half)
    made = np.empty_like(pairs)
    np.add(pairs[:, :, 0], pairs[:, :, 1], out=made[:, :, 0])
    np.subtract(pairs[:, :, 0], pairs[:, :, 1], out=made[:, :, 1])
    return made.reshape(words.shape)


def last_stage(words: np.ndarray, half: int) -> np.ndarray:
    """Return the last butterfly stage, with the rows wired in sequency order.

    Parameters
    ----------
    words : int64 array, shape (lanes, n), n a power of two
        Words of the stage before.
    half : int
        Distance of the two words of a butterfly.

    Returns
    -------
    int64 array, shape (lanes, n)
        The transform in sequency order.
    """
    return stage(words, half)[:, [_natural_row(row, words.shape[1]) for row in range(words.shape[1])]]


def _natural_row(row: int, n: int) -> int:
    """Return the natural index of a row of sequency order: the bit-reversed Gray code.

    >>> [natural_row(row, 8) for row in range(8)]
    [0, 4, 6, 2, 3, 7, 5, 1]
    """
    gray, natural = row ^ (row >> 1), 0
    for _ in range(n.bit_length() - 1):
        natural, gray = (natural << 1) | (gray & 1), gray >> 1
    return natural
