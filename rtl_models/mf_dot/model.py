"""Cycle model of the MF dot product: terms side by side (`mf_term/model.py`), then an adder tree."""

from __future__ import annotations

import numpy as np


def level(words: np.ndarray) -> np.ndarray:
    """Return one level of the adder tree: words [lanes, n] with neighbours added and a last odd word passed on.

    Parameters
    ----------
    words : int64 array, shape (lanes, n), n at least 1
        Terms or sums of the level before.

    Returns
    -------
    int64 array, shape (lanes, ceil(n / 2))
        Exact sums.
    """
    pairs = words.shape[1] // 2
    sums = words[:, 0 : 2 * pairs : 2] + words[:, 1 : 2 * pairs : 2]
    return np.concatenate([sums, words[:, 2 * pairs :]], axis=1)
