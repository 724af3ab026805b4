"""Fast kernels of the norms."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.rows.packed import CACHED_CODES, pack, packed, unpack
from mfsim.kernels.rows.quotients import BITS, DIVISION, RECIPROCAL, SHIFT, Quotient, factor_of, multiply_add, with_sign
from mfsim.kernels.rows.search import search_table
from mfsim.kernels.simd.wrapping import add, maximum, mul, sub, word_of
from mfsim.ops.norm.kernels import guarded_root

# What the fast kernels of the norms share: the statistic of a row, then one float64 product for each code, exact.
#
#     y_i = round(c_i g_i f) + beta_i,   c_i = N q_i - sum q  or  N q_i
#
# f is the quotient of the row (`mfsim/kernels/rows/quotients.py`); g_i are the codes of gamma, or the powers of two that a
# shift norm shifts by. A product c g is exact, as is shown by the bits of a numerator.

ROOT, SPREAD, MAGNITUDES = range(3)
"""What a row is divided by: D of `guarded_root` from V; or a power of two by the thresholds of V, or of sum |c|."""

ROOT_BITS = 31
"""Bits of D, the root of less than 2**62."""

GAIN_PLACES = 8
"""Gains of a shift norm are multiples of 2**-8."""


class Statistic(NamedTuple):
    """How a row is measured: one of the three, whether c is centred, guard bits G and eps."""

    kind: int
    centred: bool
    guard: int = 0
    eps: int = 0


@kernel
def _normalise(x, y, rows, gamma, beta, statistic, quotient):
    """Fill `rows` rows of y from those of x, both `packed`; gamma is float64, beta of the word of all sums."""
    length, word = gamma.size, beta.dtype.type
    n, none, real_n = word(length), word(0), np.float64(length)
    room = max(CACHED_CODES // length, 1)
    codes = np.empty(room * length, beta.dtype)
    for first in range(0, rows, room):
        part = codes[: min(room, rows - first) * length]
        unpack(x, first * length, part)
        for start in range(0, part.size, length):
            row = part[start : start + length]
            total, squares = none, none
            for i in range(length):
                total = add(total, row[i])
                squares = add(squares, mul(row[i], row[i]))
            if not statistic.centred:
                total = none
            found = length * np.int64(squares) - np.int64(total) * np.int64(total)
            if statistic.kind == ROOT:
                found = guarded_root(found, statistic.guard, statistic.eps)
            elif statistic.kind == MAGNITUDES:
                magnitudes = none
                for i in range(length):
                    code = sub(mul(row[i], n), total)
                    magnitudes = add(magnitudes, maximum(code, sub(none, code)))
                found = np.int64(magnitudes)
            factor, half = factor_of(found, quotient)
            real_total = np.float64(total)
            for i in range(length):
                weighted = multiply_add(np.float64(row[i]), real_n, -real_total) * gamma[i]
                row[i] = add(word(multiply_add(weighted, factor, with_sign(half, weighted))), beta[i])
        pack(part, y, first * length)


def _prepared(inputs, outputs, gamma, beta, statistic, quotient, numerator):
    """Return the `run` of a norm whose numerators are at most `numerator`, or None if its words are too long."""
    (x, *_), (y,) = inputs, outputs
    length, largest = gamma.size, max(-x.low, x.high)
    # N q and the sum of a row are float64 too.
    if max(numerator, length * largest).bit_length() > BITS[quotient.form]:
        return None
    summed = _deviation(x, statistic.centred) if statistic.kind == MAGNITUDES else largest**2
    word = word_of(length * summed, length * largest, *(end - int(b) for end in (y.low, y.high) for b in (0, *beta)))
    if word is None:
        return None
    gamma, beta = gamma.astype(np.float64), beta.astype(word)

    def run(arrays, attributes, results):
        _normalise(packed(arrays[0]), packed(results[0]), arrays[0].size // length, gamma, beta, statistic, quotient)

    return run


def _deviation(x, centred):
    """Return the greatest |c|."""
    length = x.shape[-1]
    return (length - 1) * (x.high - x.low) if centred else length * max(-x.low, x.high)


def _root_norm(inputs, outputs, attributes, centred):
    """Return the `run` of a norm that divides by a root, or multiplies by its reciprocal; None if words are too long."""
    x, gamma = inputs[0], inputs[1].codes
    beta = inputs[2].codes if len(inputs) > 2 else np.zeros(gamma.size, np.int64)
    guard, shift, greatest = attributes["guard"], attributes["shift"], int(np.abs(gamma).max())
    statistic = Statistic(ROOT, centred, guard, attributes["eps"])
    if "reciprocal" not in attributes:
        weighted = _deviation(x, centred) * greatest
        numerator = (weighted << 1 + max(shift, 0)) + (1 << ROOT_BITS + max(-shift, 0))
        return _prepared(inputs, outputs, gamma, beta, statistic, Quotient(DIVISION, math.ldexp(1.0, shift)), numerator)
    power = attributes["reciprocal"]
    # c**2 <= N V and D >= 2**G sqrt(V) / 2, so |c| 2**power / D is at most 2 sqrt(N) 2**(power - G).
    product = (2 * greatest * (math.isqrt(gamma.size) + 1) << power >> guard) + 1
    quotient = Quotient(RECIPROCAL, math.ldexp(1.0, shift - power), power)
    return _prepared(inputs, outputs, gamma, beta, statistic, quotient, product + (1 << power - shift - 1))


def _shift_norm(inputs, outputs, attributes, kind):
    """Return the `run` of a shift norm of `kind`, or None if words are too long."""
    x, thresholds, beta = inputs[0], inputs[1].codes, inputs[2].codes
    places = np.array(attributes["exponents"]) + attributes["fraction"] + GAIN_PLACES
    numerator = (_deviation(x, True) << int(places.max())) + (1 << thresholds.size + GAIN_PLACES - 1)
    quotient = Quotient(SHIFT, math.ldexp(1.0, -GAIN_PLACES), 0, search_table(thresholds))
    return _prepared(inputs, outputs, np.ldexp(1.0, places), beta, Statistic(kind, True), quotient, numerator)


# layer_norm, fast kernel: centred codes times one number for their row, in float64 and exact.

LAYER_NORM_ISAS = ("portable",)


def prepare_layer_norm(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; gamma [N]; beta [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _root_norm(inputs, outputs, attributes, centred=True)


# layer_norm_recip, fast kernel: centred codes times the reciprocal of their root, in float64 and exact.

LAYER_NORM_RECIP_ISAS = ("portable",)


def prepare_layer_norm_recip(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; gamma [N]; beta [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`, `reciprocal`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _root_norm(inputs, outputs, attributes, centred=True)


# rms_norm, fast kernel: codes times one number for their row, in float64 and exact.

RMS_NORM_ISAS = ("portable",)


def prepare_rms_norm(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; gamma [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _root_norm(inputs, outputs, attributes, centred=False)


# rms_norm_recip, fast kernel: codes times the reciprocal of their root, in float64 and exact.

RMS_NORM_RECIP_ISAS = ("portable",)


def prepare_rms_norm_recip(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; gamma [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `guard`, `eps`, `times_n`, `shift`, `reciprocal`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _root_norm(inputs, outputs, attributes, centred=False)


# shift_norm_l1, fast kernel: centred codes times a power of two for their row, in float64 and exact.

SHIFT_NORM_L1_ISAS = ("portable",)


def prepare_shift_norm_l1(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; ascending thresholds; beta [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `exponents`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _shift_norm(inputs, outputs, attributes, MAGNITUDES)


# shift_norm_l2, fast kernel: centred codes times a power of two for their row, in float64 and exact.

SHIFT_NORM_L2_ISAS = ("portable",)


def prepare_shift_norm_l2(inputs, outputs, attributes):
    """Return the `run` of these operands, or None if their words are too long.

    Parameters
    ----------
    inputs : list of Operand
        x [..., N]; ascending thresholds; beta [N]; shapes are those of one sample.
    outputs : list of one Operand
        y of the shape of x, with its proved range.
    attributes : mapping
        Complete attributes: `fraction`, `exponents`.

    Returns
    -------
    callable or None
        run(inputs, attributes, outputs); it returns None.
    """
    return _shift_norm(inputs, outputs, attributes, SPREAD)
