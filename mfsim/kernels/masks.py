"""The mask of a normaliser as rows: constant bits, or codes. Definition: mfsim/ops/normalisers.py."""

from __future__ import annotations

import numpy as np


def mask_rows(x, mask):
    """Return (seen, live) for the mask of x in a list of 0 or 1 arrays.

    `seen` holds constant bits, one row, one for each row of the last two axes, or all 1; `live` codes, one row
    for each of x, or one empty row. A mask with a batch axis is one of codes.
    """
    length = x.shape[-1]
    seen, live = np.ones((1, length), dtype=np.int64), np.empty((1, 0), dtype=x.dtype)
    if mask and mask[0].ndim == x.ndim:
        live = np.array(np.broadcast_to(mask[0], x.shape)).reshape(-1, length)
    elif mask:
        seen = np.array(mask[0]).reshape(-1, length)
    return seen, live
