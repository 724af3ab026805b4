"""rms_norm: RMSNorm of each row by a division of each code. Definition: mfsim/ops/rms_norm.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, divided, guarded_root, scaled_squares, scratch, times


@kernel
def plain(x, gamma, guard, eps, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        for i in range(codes.size):
            codes[i] = times(x[r, i], codes.size, by_shifts)
        found = guarded_root(scaled_squares(x[r], by_shifts), guard, eps)
        divided(codes, gamma, found, shift, y[r])


def run(inputs, attributes, outputs):
    x, gamma = inputs
    plain(
        as_rows(x),
        np.array(gamma),
        attributes["guard"],
        attributes["eps"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        scratch(x),
        as_rows(outputs[0]),
    )
