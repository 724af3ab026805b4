"""Plain kernels of the norms: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.arrays import as_rows, row_scratch
from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import (
    absolute,
    addsub,
    divide,
    host_mode,
    host_places,
    less,
    mul,
    negate,
    root,
    select,
    shift_left,
    shift_right,
)
from mfsim.kernels.rows.search import reached, search_table

# What the kernels of the norms share: N q, the sums of a row, its root, and rounded quotients.
#
# Definitions: mfsim/ops/norm/definition.py, mfsim/ops/norm/root_norms.py. A row is the last axis.


@kernel
def _times_length(code, factor, by_shifts):
    """Return factor * code, factor >= 1: one product, or a shift for each bit of the factor and their sum."""
    if not by_shifts:
        return mul(code, factor)
    place = 0
    while not factor >> place & 1:
        place += 1
    total = shift_left(code, place) if place > 0 else code
    place += 1
    while factor >> place:
        if factor >> place & 1:
            total = addsub(total, shift_left(code, place), 1)
        place += 1
    return total


@kernel
def _row_sum(row):
    """Return the sum of a row."""
    total = row[0]
    for i in range(1, row.size):
        total = addsub(total, row[i], 1)
    return total


@kernel
def _centre(row, by_shifts, centred):
    """Fill `centred` with N q - sum q, and return sum q."""
    total = _row_sum(row)
    for i in range(row.size):
        centred[i] = addsub(_times_length(row[i], row.size, by_shifts), total, -1)
    return total


@kernel
def _absolutes(codes, magnitudes):
    """Fill `magnitudes` with |codes|."""
    for i in range(codes.size):
        magnitudes[i] = absolute(codes[i])


@kernel
def _scaled_squares(row, by_shifts):
    """Return N sum q**2."""
    squares = mul(row[0], row[0])
    for i in range(1, row.size):
        squares = addsub(squares, mul(row[i], row[i]), 1)
    return _times_length(squares, row.size, by_shifts)


@kernel
def _spread(row, total, by_shifts):
    """Return N sum q**2 - total**2, where `total` is the sum of the row."""
    return addsub(_scaled_squares(row, by_shifts), mul(total, total), -1)


@kernel
def guarded_root(variation, guard, eps):
    """Return max(1, floor(sqrt(variation * 4**guard + eps))).

    Parameters
    ----------
    variation : int64
        V, at least 0.
    guard : int
        G, in bits, at least 0; the radicand is below 2**62.
    eps : int64
        Added under the root, at least 0.

    Returns
    -------
    int64
        At least 1.
    """
    shifted = shift_left(variation, 2 * guard) if guard > 0 else variation
    found = root(addsub(shifted, eps, 1))
    return select(less(found, 1), 1, found)


@kernel
def _divide_rows(codes, gamma, found, shift, y):
    """Fill y with codes * gamma * 2**shift / found, rounded to the nearest, halves away from 0."""
    added = shift_left(found, -shift) if shift < 0 else found
    divisor = shift_left(found, 1 + max(-shift, 0))
    for i in range(codes.size):
        weighted = mul(codes[i], gamma[i])
        numerator = addsub(shift_left(absolute(weighted), 1 + max(shift, 0)), added, 1)
        y[i] = negate(divide(numerator, divisor), host_mode(weighted))


@kernel
def _multiply_rows(codes, gamma, found, power, shift, y):
    """Fill y with codes * gamma * (2**power // found) * 2**(shift - power), rounded likewise."""
    reciprocal = divide(1 << power, found)
    places = power - shift
    for i in range(codes.size):
        weighted = mul(codes[i], gamma[i])
        product = addsub(mul(absolute(weighted), reciprocal), 1 << (places - 1), 1)
        y[i] = negate(shift_right(product, places), host_mode(weighted))


@kernel
def _shift_rows(codes, magnitudes, power, places, y):
    """Fill y with codes * 2**(places - 8 - power), rounded to the nearest, halves away from 0."""
    half = shift_left(1, host_places(power, 7))
    for i in range(codes.size):
        scaled = shift_left(magnitudes[i], places[i]) if places[i] > 0 else magnitudes[i]
        y[i] = negate(shift_right(addsub(scaled, half, 1), host_places(power, 8)), host_mode(codes[i]))


@kernel
def _offset(beta, y):
    """Add beta to y."""
    for i in range(y.size):
        y[i] = addsub(y[i], beta[i], 1)


# layer_norm: LayerNorm of each row by a division of each code. Definition: mfsim/ops/norm/layer_norm.py.


@kernel
def _plain_layer_norm(x, gamma, beta, guard, eps, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        total = _centre(x[r], by_shifts, codes)
        found = guarded_root(_spread(x[r], total, by_shifts), guard, eps)
        _divide_rows(codes, gamma, found, shift, y[r])
        _offset(beta, y[r])


def run_layer_norm(inputs, attributes, outputs):
    """Fill the output of op `layer_norm`: integer LayerNorm of rows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; gamma [N]; beta [N].
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, gamma, beta = inputs
    _plain_layer_norm(
        as_rows(x),
        np.array(gamma),
        np.array(beta),
        attributes["guard"],
        attributes["eps"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        row_scratch(x),
        as_rows(outputs[0]),
    )


# layer_norm_recip: LayerNorm of each row by one reciprocal. Definition: mfsim/ops/norm/layer_norm_recip.py.


@kernel
def _plain_layer_norm_recip(x, gamma, beta, guard, eps, power, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        total = _centre(x[r], by_shifts, codes)
        found = guarded_root(_spread(x[r], total, by_shifts), guard, eps)
        _multiply_rows(codes, gamma, found, power, shift, y[r])
        _offset(beta, y[r])


def run_layer_norm_recip(inputs, attributes, outputs):
    """Fill the output of op `layer_norm_recip`: integer LayerNorm of rows, by one reciprocal each.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; gamma [N]; beta [N].
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`, `reciprocal`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, gamma, beta = inputs
    _plain_layer_norm_recip(
        as_rows(x),
        np.array(gamma),
        np.array(beta),
        attributes["guard"],
        attributes["eps"],
        attributes["reciprocal"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        row_scratch(x),
        as_rows(outputs[0]),
    )


# rms_norm: RMSNorm of each row by a division of each code. Definition: mfsim/ops/norm/rms_norm.py.


@kernel
def _plain_rms_norm(x, gamma, guard, eps, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        for i in range(codes.size):
            codes[i] = _times_length(x[r, i], codes.size, by_shifts)
        found = guarded_root(_scaled_squares(x[r], by_shifts), guard, eps)
        _divide_rows(codes, gamma, found, shift, y[r])


def run_rms_norm(inputs, attributes, outputs):
    """Fill the output of op `rms_norm`: integer RMSNorm of rows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; gamma [N].
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, gamma = inputs
    _plain_rms_norm(
        as_rows(x),
        np.array(gamma),
        attributes["guard"],
        attributes["eps"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        row_scratch(x),
        as_rows(outputs[0]),
    )


# rms_norm_recip: RMSNorm of each row by one reciprocal. Definition: mfsim/ops/norm/rms_norm_recip.py.


@kernel
def _plain_rms_norm_recip(x, gamma, guard, eps, power, shift, by_shifts, codes, y):
    """Take x and y [rows, N]; `codes` holds one row."""
    for r in range(x.shape[0]):
        for i in range(codes.size):
            codes[i] = _times_length(x[r, i], codes.size, by_shifts)
        found = guarded_root(_scaled_squares(x[r], by_shifts), guard, eps)
        _multiply_rows(codes, gamma, found, power, shift, y[r])


def run_rms_norm_recip(inputs, attributes, outputs):
    """Fill the output of op `rms_norm_recip`: integer RMSNorm of rows, by one reciprocal each.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; gamma [N].
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`, `reciprocal`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, gamma = inputs
    _plain_rms_norm_recip(
        as_rows(x),
        np.array(gamma),
        attributes["guard"],
        attributes["eps"],
        attributes["reciprocal"],
        attributes["shift"],
        attributes["times_n"] == "shift",
        row_scratch(x),
        as_rows(outputs[0]),
    )


# shift_norm_l1: a row by the nearest power of two of the mean magnitude. Definition: mfsim/ops/norm/shift_norm_l1.py.


@kernel
def _plain_shift_norm_l1(x, table, beta, places, codes, magnitudes, y):
    """Take x and y [rows, N]; `codes` and `magnitudes` hold one row, `places` are F + g + 8 by channel."""
    for r in range(x.shape[0]):
        _centre(x[r], True, codes)
        _absolutes(codes, magnitudes)
        power = reached(_row_sum(magnitudes), table)
        _shift_rows(codes, magnitudes, power, places, y[r])
        _offset(beta, y[r])


def run_shift_norm_l1(inputs, attributes, outputs):
    """Fill the output of op `shift_norm_l1`: shift-based norms of rows by their mean magnitude.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; ascending thresholds; beta [N].
    attributes : mapping
        Complete attributes: `fraction`, `exponents`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, thresholds, beta = inputs
    _plain_shift_norm_l1(
        as_rows(x),
        search_table(thresholds),
        np.array(beta),
        np.array(attributes["exponents"], dtype=np.int64) + attributes["fraction"] + 8,
        row_scratch(x),
        row_scratch(x),
        as_rows(outputs[0]),
    )


# shift_norm_l2: a row by the nearest power of two of the variance. Definition: mfsim/ops/norm/shift_norm_l2.py.


@kernel
def _plain_shift_norm_l2(x, table, beta, places, codes, magnitudes, y):
    """Take x and y [rows, N]; `codes` and `magnitudes` hold one row, `places` are F + g + 8 by channel."""
    for r in range(x.shape[0]):
        total = _centre(x[r], True, codes)
        _absolutes(codes, magnitudes)
        power = reached(_spread(x[r], total, True), table)
        _shift_rows(codes, magnitudes, power, places, y[r])
        _offset(beta, y[r])


def run_shift_norm_l2(inputs, attributes, outputs):
    """Fill the output of op `shift_norm_l2`: shift-based norms of rows by their standard deviation.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ..., N]; ascending thresholds; beta [N].
    attributes : mapping
        Complete attributes: `fraction`, `exponents`.
    outputs : list of one int64 array
        Preallocated and filled completely: y of the shape of x.
    """
    x, thresholds, beta = inputs
    _plain_shift_norm_l2(
        as_rows(x),
        search_table(thresholds),
        np.array(beta),
        np.array(attributes["exponents"], dtype=np.int64) + attributes["fraction"] + 8,
        row_scratch(x),
        row_scratch(x),
        as_rows(outputs[0]),
    )
