"""Model of one MF term, as the circuit does it: a sum or a difference, negated or not."""

from __future__ import annotations

import numpy as np


def _term(x: np.ndarray, w: np.ndarray, form: str, sign_zero: int) -> np.ndarray:
    """Return the terms of the codes `x` and `w` (one shape, int64)."""
    differ = (x < 0) != (w < 0)
    subtract, negate = (differ, w < 0) if form == "ef" else (np.zeros_like(differ), differ)
    total = np.where(subtract, x - w, x + w)
    signed = np.where(negate, -total, total)
    return signed if sign_zero else np.where((x != 0) & (w != 0), signed, 0)


def split_term(words: np.ndarray, form: str, sign_zero: int) -> np.ndarray:
    """Return the multiplication-free terms of words [lanes, 2n]: first n words of x, then n words of w.

    Parameters
    ----------
    words : int64 array, shape (lanes, 2n)
        Codes of x and w.
    form : str
        "ef", sign(w) x + sign(x) w, or "abs", sign(w) |x| + sign(x) |w|.
    sign_zero : int
        Sign of code 0: 0 or 1.

    Returns
    -------
    int64 array, shape (lanes, n)
        Exact terms.
    """
    half = words.shape[1] // 2
    return _term(words[:, :half], words[:, half:], form, sign_zero)
