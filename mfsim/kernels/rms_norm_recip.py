"""rms_norm_recip: RMSNorm of each row by one reciprocal. Definition: mfsim/ops/rms_norm_recip.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, guarded_root, multiplied, scaled_squares, scratch, times


@kernel
def plain(x, gamma, guard, eps, power, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        for i in range(codes.size):
            codes[i] = times(x[r, i], codes.size, by_shifts)
        found = guarded_root(scaled_squares(x[r], by_shifts), guard, eps)
        multiplied(codes, gamma, found, power, shift, y[r])


def run(inputs, attributes, outputs):
    x, gamma = inputs
    plain(
        as_rows(x),
        np.array(gamma),
        attributes["guard"],
        attributes["eps"],
        attributes["reciprocal"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        scratch(x),
        as_rows(outputs[0]),
    )
