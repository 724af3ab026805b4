"""shift_norm_l1: a row by the nearest power of two of the mean magnitude. Definition: mfsim/ops/shift_norm_l1.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.norms import absolutes, as_rows, centre, offset, row_sum, scratch, shifted
from mfsim.kernels.search import reached, search_table


@kernel
def plain(x, table, beta, places, codes, magnitudes, y):
    """Take x and y [rows, N]; `codes` and `magnitudes` hold one row, `places` are F + g + 8 by channel."""
    for r in range(x.shape[0]):
        centre(x[r], True, codes)
        absolutes(codes, magnitudes)
        power = reached(row_sum(magnitudes), table)
        shifted(codes, magnitudes, power, places, y[r])
        offset(beta, y[r])


def run(inputs, attributes, outputs):
    x, thresholds, beta = inputs
    plain(
        as_rows(x),
        search_table(thresholds),
        np.array(beta),
        np.array(attributes["exponents"], dtype=np.int64) + attributes["fraction"] + 8,
        scratch(x),
        scratch(x),
        as_rows(outputs[0]),
    )
