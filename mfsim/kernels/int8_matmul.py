"""Matrix products of ops, prepared for words of 8 bits: constant weights are packed once."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.int8_parts import matrix


def prepared(inputs, sums_of):
    """Return a `run` for x and w and perhaps a bias, or None if some word is too wide.

    `sums_of(w [k, n], bias [n], probe)` returns one or two `Sums`, or None; `probe` has the extreme codes of w.
    """
    w = inputs[1].codes
    if w is None:
        return _prepared_dynamic(inputs[1], sums_of)
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(w.shape[1], np.int64)
    sums = sums_of(w, bias, w)
    if sums is None:
        return None

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        matrix(sums, x.reshape(-1, w.shape[0]), y.reshape(-1, w.shape[1]))

    return run


def _prepared_dynamic(w, sums_of):
    probe, none = np.array([[w.low], [w.high]]), np.zeros(1, np.int64)
    if sums_of(probe, none, probe) is None:
        return None

    def run(inputs, attributes, outputs):
        x, w, y = inputs[0], inputs[1], outputs[0]
        (rows, length), columns = x.shape[-2:], w.shape[-1]
        groups = math.prod(y.shape[:-2])
        x, w, y = (
            array.reshape(groups, *shape)
            for array, shape in ((x, (rows, length)), (w, (length, columns)), (y, (rows, columns)))
        )
        sums = sums_of(np.zeros((length, columns), np.int64), np.zeros(columns, np.int64), np.repeat(probe, columns, 1))
        for g in range(groups):
            for each in sums:
                each.product.pack(w[g])
            matrix(sums, x[g], y[g])

    return run
