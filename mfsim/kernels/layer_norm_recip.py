"""layer_norm_recip: LayerNorm of each row by one reciprocal. Definition: mfsim/ops/layer_norm_recip.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import as_rows, centre, guarded_root, multiplied, offset, scratch, spread


@kernel
def plain(x, gamma, beta, guard, eps, power, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        total = centre(x[r], by_shifts, codes)
        found = guarded_root(spread(x[r], total, by_shifts), guard, eps)
        multiplied(codes, gamma, found, power, shift, y[r])
        offset(beta, y[r])


def run(inputs, attributes, outputs):
    x, gamma, beta = inputs
    plain(
        as_rows(x),
        np.array(gamma),
        np.array(beta),
        attributes["guard"],
        attributes["eps"],
        attributes["reciprocal"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        scratch(x),
        as_rows(outputs[0]),
    )
