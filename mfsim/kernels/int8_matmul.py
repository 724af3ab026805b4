"""Matrix products of ops, prepared for words of 8 bits: constant weights are packed once."""

from __future__ import annotations

import numpy as np

from mfsim.kernels import int8_batched
from mfsim.kernels.int8_parts import ending, matrix


def prepared(inputs, y, sums_of, after):
    """Return a `run` for x and w and perhaps a bias, or None if some word is too wide.

    `y` is the range (low, high) of the sums; `sums_of(w [k, n], bias [n], probe)` returns one or two `Sums`, or
    None; `probe` has the extreme codes of w. `after` is the `Fit` of the sums, or None.
    """
    w = inputs[1].codes
    if w is None:
        return int8_batched.prepared(inputs[0], inputs[1], sums_of, after)
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(w.shape[1], np.int64)
    sums = sums_of(w, bias, w)
    if sums is None:
        return None
    end = ending(after, y, w.shape[1])

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        events = matrix(sums, end, x.reshape(-1, w.shape[0]), y.reshape(-1, w.shape[1]))
        return events if end.fit.events else None

    return run
