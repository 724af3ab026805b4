"""Plain kernels of softmax and tanh-l1: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import (
    absolute,
    addsub,
    divide,
    host_index,
    host_mode,
    less,
    lookup,
    mul,
    negate,
    select,
    shift_left,
    shift_right,
)
from mfsim.kernels.rows.search import reached, search_table

# The mask of a normaliser as rows: constant bits, or codes. Definition: mfsim/ops/softmax/rows.py.


def _mask_rows(x, mask):
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


# What the kernels of softmax share: the terms of a row and their sum. Definition: mfsim/ops/softmax/softmax_definition.py.


@kernel
def _terms_and_sum(x, seen, live, hidden, table, clamp, distances, terms):
    """Fill `distances` and `terms` of one row where `seen` is not 0 and return the sum of terms.

    `live` is a mask of codes, or empty; what it hides becomes `hidden` for the maximum, and its term 0.
    """
    greatest, started = hidden, False
    for i in range(x.size):
        if seen[i]:
            code = select(live[i], x[i], hidden) if live.size > 0 else x[i]
            distances[i] = code
            greatest = select(less(greatest, code), code, greatest) if started else code
            started = True
    total, started, last = 0, False, table.size - 1
    for i in range(x.size):
        if seen[i]:
            distance = addsub(greatest, distances[i], -1)
            distances[i] = distance
            index = select(less(last, distance), last, distance) if clamp else distance
            term = lookup(table, host_index(index))
            if live.size > 0:
                term = select(live[i], term, 0)
            terms[i] = term
            total = addsub(total, term, 1) if started else term
            started = True
    return total


@kernel
def _at_least(total, live, least):
    """Return a sum, raised to `least` if a mask of codes may have hidden the whole row."""
    return select(less(total, least), least, total) if live.size > 0 else total


def _softmax_arguments(inputs, without, attributes, outputs):
    """Return x, seen, live as rows, the code of what is hidden, the table, `clamp` and room for one row; y as rows.

    `without` is the number of inputs before the mask.
    """
    x, table = inputs[0], np.array(inputs[1])
    length = x.shape[-1]
    seen, live = _mask_rows(x, inputs[without:])
    rooms = np.empty((2, length), dtype=x.dtype)
    return (
        (x.reshape(-1, length), seen, live, attributes["hidden"], table, attributes["clamp"] == "high", *rooms),
        outputs[0].reshape(-1, length),
    )


# What the kernels of tanh-l1 share: the terms of a row and their divisor. Definition: mfsim/ops/softmax/tanh_l1_definition.py.


@kernel
def _terms_and_divisor(x, seen, live, eps, table, clamp, terms):
    """Fill `terms` of one row where `seen` is not 0 and return eps plus their sum; `live` hides by codes, or is empty."""
    total, last = eps, table.size - 1
    for i in range(x.size):
        if seen[i]:
            magnitude = absolute(x[i])
            index = select(less(last, magnitude), last, magnitude) if clamp else magnitude
            term = lookup(table, host_index(index))
            if live.size > 0:
                term = select(live[i], term, 0)
            terms[i] = term
            total = addsub(total, term, 1)
    return total


@kernel
def _with_sign(quotient, code):
    """Return the quotient, negated where `code` is negative."""
    return negate(quotient, host_mode(code))


def _tanh_l1_arguments(inputs, masks, attributes, outputs):
    """Return x, seen and live as rows, eps, the table, `clamp` and room for one row; y as rows."""
    x = inputs[0]
    length = x.shape[-1]
    terms = np.empty(length, dtype=x.dtype)
    table, clamp = np.array(inputs[1]), attributes["clamp"] == "high"
    return (x.reshape(-1, length), *masks, attributes["eps"], table, clamp, terms), outputs[0].reshape(-1, length)


# softmax: a division for each entry. Definition: mfsim/ops/softmax/softmax.py.


@kernel
def _plain_softmax(x, seen, live, hidden, table, clamp, distances, terms, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = _terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        total = _at_least(total, mask, table[0])
        twice = shift_left(total, 1)
        for i in range(x.shape[1]):
            y[r, i] = divide(addsub(shift_left(terms[i], fraction + 1), total, 1), twice) if row[i] else 0


def run_softmax(inputs, attributes, outputs):
    """Fill the output of op `softmax`: integer softmax of rows, one division for each entry.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of exp; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `clamp`, `hidden`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _softmax_arguments(inputs, 2, attributes, outputs)
    _plain_softmax(*arguments, attributes["fraction"], y)


# softmax_recip: one division for each row, then products. Definition: mfsim/ops/softmax/softmax_recip.py.


@kernel
def _plain_softmax_recip(x, seen, live, hidden, table, clamp, distances, terms, power, places, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `places` is K - F."""
    half = 1 << (places - 1)
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = _terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        inverse = divide(1 << power, _at_least(total, mask, table[0]))
        for i in range(x.shape[1]):
            y[r, i] = shift_right(addsub(mul(terms[i], inverse), half, 1), places) if row[i] else 0


def run_softmax_recip(inputs, attributes, outputs):
    """Fill the output of op `softmax_recip`: integer softmax of rows, one reciprocal for each row.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of exp; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `reciprocal`, `clamp`, `hidden`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _softmax_arguments(inputs, 2, attributes, outputs)
    _plain_softmax_recip(*arguments, attributes["reciprocal"], attributes["reciprocal"] - attributes["fraction"], y)


# softmax_shift: the row sum rounded to a power of two. Definition: mfsim/ops/softmax/softmax_shift.py.


@kernel
def _plain_softmax_shift(x, seen, live, hidden, table, clamp, distances, terms, thresholds, offset, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `offset` thresholds less F are always reached."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = _terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        places = addsub(reached(total, thresholds), offset, 1)
        half = shift_right(shift_left(1, places), 1)
        for i in range(x.shape[1]):
            y[r, i] = shift_right(addsub(terms[i], half, 1), places) if row[i] else 0


def run_softmax_shift(inputs, attributes, outputs):
    """Fill the output of op `softmax_shift`: integer softmax of rows with power-of-two sums.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of exp; thresholds; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `clamp`, `hidden`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _softmax_arguments(inputs, 3, attributes, outputs)
    least = inputs[1][0]
    always = int((inputs[2] <= least).sum())
    _plain_softmax_shift(*arguments, search_table(inputs[2][always:]), always - attributes["fraction"], y)


# softmax_log: a subtraction in the log domain, then a table. Definition: mfsim/ops/softmax/softmax_log.py.


@kernel
def logarithm(total, thresholds, lnk, lnm, least_places):
    """Return ln(total / 2**P) on the grid of the tables; `least_places` is P - M.

    Parameters
    ----------
    total : int64
        Sum of the terms of a row, on 2**-P, at least 2**P.
    thresholds : int64 array
        What `search_table` returned for the places of the sum.
    lnk, lnm : int64 array
        Tables of the logarithms of powers of two, and of mantissas of M bits.
    least_places : int
        P - M, in bits, at least 1.

    Returns
    -------
    int64
        On the grid of the tables.
    """
    power = reached(total, thresholds)
    half = shift_left(1 << (least_places - 1), power)
    mantissa = shift_right(addsub(total, half, 1), addsub(power, least_places, 1))
    return addsub(lookup(lnk, host_index(power)), lookup(lnm, host_index(mantissa) - (lnm.size - 1)), 1)


@kernel
def _plain_softmax_log(
    x, seen, live, hidden, table, clamp, distances, terms, thresholds, lnk, lnm, out, places, fine, clamp_out, y
):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]; `places` is P - M, `fine` is g."""
    last = out.size - 1
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = _terms_and_sum(x[r], row, mask, hidden, table, clamp, distances, terms)
        log = logarithm(_at_least(total, mask, table[0]), thresholds, lnk, lnm, places)
        for i in range(x.shape[1]):
            if row[i]:
                place = addsub(shift_left(distances[i], fine) if fine > 0 else distances[i], log, 1)
                place = select(less(last, place), last, place) if clamp_out else place
                code = lookup(out, host_index(place))
                y[r, i] = select(mask[i], code, 0) if mask.size > 0 else code
            else:
                y[r, i] = 0


def run_softmax_log(inputs, attributes, outputs):
    """Fill the output of op `softmax_log`: log-domain integer softmax of rows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of exp; thresholds; tables of ln k, of ln m and of the
        result; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `fine_bits`, `clamp`, `clamp_out`, `hidden`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _softmax_arguments(inputs, 6, attributes, outputs)
    lnk, lnm, out = (np.array(table) for table in inputs[3:6])
    places = int(inputs[1][0]).bit_length() - (lnm.size - 1).bit_length()
    fitting = places, attributes["fine_bits"], attributes["clamp_out"] == "high"
    _plain_softmax_log(*arguments, search_table(inputs[2]), lnk, lnm, out, *fitting, y)


# tanh_l1: a division for each entry. Definition: mfsim/ops/softmax/tanh_l1.py.


@kernel
def _plain_tanh_l1(x, seen, live, eps, table, clamp, terms, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        total = _terms_and_divisor(x[r], row, mask, eps, table, clamp, terms)
        twice = shift_left(total, 1)
        for i in range(x.shape[1]):
            if row[i]:
                y[r, i] = _with_sign(divide(addsub(shift_left(terms[i], fraction + 1), total, 1), twice), x[r, i])
            else:
                y[r, i] = 0


def run_tanh_l1(inputs, attributes, outputs):
    """Fill the output of op `tanh_l1`: tanh over its l1 norm of rows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of tanh; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `eps`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _tanh_l1_arguments(inputs, _mask_rows(inputs[0], inputs[2:]), attributes, outputs)
    _plain_tanh_l1(*arguments, attributes["fraction"], y)


# tanh_l1_shift: the divisor rounded to a power of two. Definition: mfsim/ops/softmax/tanh_l1_shift.py.


@kernel
def _plain_tanh_l1_shift(x, seen, live, eps, table, clamp, terms, thresholds, fraction, y):
    """Take x and y [rows, N], `seen` and `live` [fewer rows, N]."""
    for r in range(x.shape[0]):
        row, mask = seen[r % seen.shape[0]], live[r % live.shape[0]]
        exponent = reached(_terms_and_divisor(x[r], row, mask, eps, table, clamp, terms), thresholds)
        half, places = shift_left(1, exponent), addsub(exponent, 1, 1)
        for i in range(x.shape[1]):
            if row[i]:
                quotient = shift_right(addsub(shift_left(terms[i], fraction + 1), half, 1), places)
                y[r, i] = _with_sign(quotient, x[r, i])
            else:
                y[r, i] = 0


def run_tanh_l1_shift(inputs, attributes, outputs):
    """Fill the output of op `tanh_l1_shift`: tanh over its l1 norm, a power of two, of rows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., n]; table of tanh; thresholds; perhaps a mask.
    attributes : mapping
        Complete attributes: `fraction`, `eps`, `clamp`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    arguments, y = _tanh_l1_arguments(inputs, _mask_rows(inputs[0], inputs[3:]), attributes, outputs)
    _plain_tanh_l1_shift(*arguments, search_table(inputs[2]), attributes["fraction"], y)
