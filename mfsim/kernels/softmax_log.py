"""softmax_log: a subtraction in the log domain, then a table. Definition: mfsim/ops/softmax_log.py."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, host_index, less, lookup, select, shift_left, shift_right
from mfsim.kernels.search import reached, search_table
from mfsim.kernels.softmaxes import at_least, opened, terms_and_sum


@kernel
def logarithm(total, thresholds, lnk, lnm, least_places):
    """Return ln(total / 2**P) on the grid of the tables; `least_places` is P - M."""
    power = reached(total, thresholds)
    half = shift_left(1 << (least_places - 1), power)
    mantissa = shift_right(addsub(total, half, 1), addsub(power, least_places, 1))
    return addsub(lookup(lnk, host_index(power)), lookup(lnm, host_index(mantissa) - (lnm.size - 1)), 1)


@kernel
def plain(x, seen, live, hidden, table, clamp, distances, terms, thresholds, lnk, lnm, out, places, fine, clamp_out, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `places` is P - M, `fine` is g."""
    last = out.size - 1
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        log = logarithm(at_least(total, mask, table[0]), thresholds, lnk, lnm, places)
        for i in range(x.shape[1]):
            if row[i]:
                place = addsub(shift_left(distances[i], fine) if fine > 0 else distances[i], log, 1)
                place = select(less(last, place), last, place) if clamp_out else place
                code = lookup(out, host_index(place))
                y[r, i] = select(mask[i], code, 0) if mask.size > 0 else code
            else:
                y[r, i] = 0


def run(inputs, attributes, outputs):
    arguments, y = opened(inputs, 6, attributes, outputs)
    lnk, lnm, out = (np.array(table) for table in inputs[3:6])
    places = int(inputs[1][0]).bit_length() - (lnm.size - 1).bit_length()
    fitting = places, attributes["fine_bits"], attributes["clamp_out"] == "high"
    plain(*arguments, search_table(inputs[2]), lnk, lnm, out, *fitting, y)
