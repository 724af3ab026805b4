"""Tables, thresholds and defaults of the integer softmax and tanh-l1."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath

from mfsim.errors import FormatError, ShapeError
from mfsim.ops.function_table import DIGITS, MAX_ENTRIES, checked_gain, nearest

# What the tables of softmax and tanh-l1 share: the length of a row in bits, thresholds, one for reciprocals.


def row_bits(length: int) -> int:
    """Return n = ceil(log2 length): a sum of `length` words takes n more bits.

    Parameters
    ----------
    length : int; N, entries of a row.

    Returns
    -------
    int; bits, at least 0.

    Raises
    ------
    ShapeError
        If `length` is below 1.
    """
    if length < 1:
        raise ShapeError(f"a row must have at least 1 entry, not {length}")
    return (length - 1).bit_length()


def default_fraction(length: int) -> int:
    """Return F = max(8, n + 1): on the grid 2**-F a mean weight of a row of `length` is at least 2 LSB.

    Parameters
    ----------
    length : int; N, at least 1.

    Returns
    -------
    int; bits, at least 8.
    """
    return max(8, row_bits(length) + 1)


def nearest_power_thresholds(count: int) -> tuple[int, ...]:
    """Return ceil(2**(j - 1/2)) for j = 1 .. count.

    The number of them that an integer v >= 1 reaches is k with 2**(k - 1/2) <= v < 2**(k + 1/2): the nearest
    power of two in the log domain, as long as v < 2**(count + 1/2).

    Parameters
    ----------
    count : int; at least 0.

    Returns
    -------
    tuple of `count` ints; strictly ascending, from 2.
    """
    # 2**(2j - 1) is no square, so the floor of its root is one below the ceiling.
    return tuple(math.isqrt(1 << (2 * j - 1)) + 1 for j in range(1, count + 1))


def _check_bits(name: str, bits: int, least: int, most: int) -> int:
    """Return `bits`; a `FormatError` unless it is in least..most."""
    if not least <= bits <= most:
        raise FormatError(f"`{name}` must be in {least}..{most}, not {bits}")
    return bits


# Tables, thresholds and defaults of the integer softmax in its four forms (`mfsim/ops/softmax*.py`).
#
# Symbols: e (x lies on 2**-e, `x_exponent` is -e), b bits of x, N the length of a row, n = ceil(log2 N), F the
# fraction bits of the result, P those of the table of exp, K those of the reciprocal, g and M the additional
# grid bits and the mantissa bits of the form in the log domain. A gain is the factor of x, 1/sqrt(width) say.

LOG_TABLE_BITS = 12
"""P of the form in the log domain."""

LOG_MANTISSA_BITS = 8
"""M of the form in the log domain."""

MOST_BITS = 61
"""Numerators and products stay below 2**61, so that twice their sums fit int64."""


def softmax_table_bits(fraction: int, length: int) -> int:
    """Return P = max(12, F + n): keeps the error at about 1 LSB for every row of `length` entries.

    It is less where 2**P (2**(F + 1) + N), the greatest numerator, would not fit 61 bits.

    Parameters
    ----------
    fraction : int; F, at least 1.
    length : int; N, at least 1.

    Returns
    -------
    int; bits, at least 12.
    """
    n = row_bits(length)
    return max(12, min(fraction + n, MOST_BITS - 1 - max(fraction + 1, n)))


def default_fine_bits(fraction: int, x_exponent: int, gain: float = 1.0) -> int:
    """Return g = F + 1 - e + ceil(log2 gain), at least 0: logarithms lie on gain 2**-(e + g) <= 2**-(F + 1).

    Parameters
    ----------
    fraction : int; F, at least 1.
    x_exponent : int; -e.
    gain : float; factor of x, positive.

    Returns
    -------
    int; bits, at least 0.
    """
    mantissa, exponent = math.frexp(gain)
    return max(0, fraction + 1 + x_exponent + exponent - (mantissa == 0.5))


def reciprocal_bits(fraction: int, table_bits: int) -> int:
    """Return K = P + F + 4, at most 61: the floored reciprocal costs at most 2**(P + F - K), so 1/16 LSB.

    Parameters
    ----------
    fraction, table_bits : int; f and P, in bits.

    Returns
    -------
    int; bits, at most 61.
    """
    return min(table_bits + fraction + 4, MOST_BITS)


@functools.lru_cache(maxsize=64)
def exp_table(x_exponent: int, bits: int, table_bits: int, gain: float = 1.0) -> tuple[int, ...]:
    """Return round(2**P exp(-gain d 2**-e)) for d = 0, 1, ... up to the first 0, at most 2**bits entries.

    Parameters
    ----------
    x_exponent : int
        -e.
    bits : int
        Word of x, 1..16, so that d = max(x) - x is in 0 .. 2**bits - 1.
    table_bits : int
        P, 1..53.
    gain : float
        Positive.

    Returns
    -------
    tuple of ints
        Never rising, from 2**P; the last entry is that of every greater d.
    """
    _check_bits("bits", bits, 1, 16)
    _check_bits("table_bits", table_bits, 1, 53)
    return _falling(1 << bits, checked_gain(gain), x_exponent, table_bits)


def _falling(limit: int, gain: mpmath.mpf, exponent: int, unit_bits: int) -> tuple[int, ...]:
    """Return round(2**unit_bits exp(-gain v 2**exponent)) for v = 0, 1, ... up to the first 0, at most `limit`."""
    entries: list[int] = []
    with mpmath.workdps(DIGITS):
        step, unit = gain * mpmath.mpf(2) ** exponent, 1 << unit_bits
        while len(entries) < limit and (not entries or entries[-1]):
            entries.append(nearest(mpmath.exp(-len(entries) * step) * unit, 0, unit))
    return tuple(entries)


def reciprocal_one(fraction: int, table_bits: int) -> int:
    """Return 2**K, which the row sum divides (`reciprocal_bits`).

    Parameters
    ----------
    fraction, table_bits : int; f and P, in bits.

    Returns
    -------
    int; a power of two of at most 2**61.
    """
    return 1 << reciprocal_bits(fraction, table_bits)


def softmax_shift_thresholds(table_bits: int, length: int) -> tuple[int, ...]:
    """Return ceil(2**(j - 1/2)), j = 1 .. P + n + 1: how many a row sum S reaches is log2 S, rounded.

    Parameters
    ----------
    table_bits : int; P.
    length : int; N, at least 1.

    Returns
    -------
    tuple of int; strictly ascending, from 2.
    """
    return nearest_power_thresholds(table_bits + row_bits(length) + 1)


@dataclass(frozen=True)
class LogTables:
    """What the form in the log domain looks up; `fine` is 2**g.

    Attributes
    ----------
    thresholds : 2**(P + j), j = 1 .. n + 1
    lnk_table : round(j ln 2 / (gain 2**-(e + g))), j = 0 .. n + 1
    lnm_table : round(ln(1 + u / 2**M) / (gain 2**-(e + g))), u = 0 .. 2**M
    out_table : round(2**F exp(-gain v 2**-(e + g))), v = 0, 1, ... up to its first 0
    """

    thresholds: tuple[int, ...]
    lnk_table: tuple[int, ...]
    lnm_table: tuple[int, ...]
    out_table: tuple[int, ...]
    fine: int


@functools.lru_cache(maxsize=64)
def log_tables(
    x_exponent: int,
    length: int,
    fraction: int,
    gain: float = 1.0,
    table_bits: int = LOG_TABLE_BITS,
    fine_bits: int | None = None,
    mantissa_bits: int = LOG_MANTISSA_BITS,
) -> LogTables:
    """Return the tables of softmax in the log domain for rows of `length` codes on 2**x_exponent.

    The logarithm of the row sum is taken in steps of x itself (gain 2**-(e + g)), so that it is added to
    d 2**g without a further factor. `fine_bits` is g, by default that of `default_fine_bits`.

    Parameters
    ----------
    x_exponent : int; -e.
    length : int; N, at least 1.
    fraction : int; F, 1..24.
    gain : float; factor of x, positive.
    table_bits : int; P.
    fine_bits : int, optional; g, 0..24; that of `default_fine_bits` if left out.
    mantissa_bits : int; M, 1..P - 1.

    Returns
    -------
    LogTables; with Python ints.

    Raises
    ------
    ShapeError
        If `length` is below 1.
    FormatError
        If `gain` or a number of bits is out of range, or `out_table` would need more than 2**16 entries.
    """
    exact_gain = checked_gain(gain)
    _check_bits("fraction", fraction, 1, 24)
    _check_bits("mantissa_bits", mantissa_bits, 1, table_bits - 1)
    if fine_bits is None:
        fine_bits = default_fine_bits(fraction, x_exponent, gain)
    _check_bits("fine_bits", fine_bits, 0, 24)
    n = row_bits(length)
    out = _falling(MAX_ENTRIES + 1, exact_gain, x_exponent - fine_bits, fraction)
    if len(out) > MAX_ENTRIES:
        raise FormatError(
            f"the table of results for x on 2^{x_exponent} with {fine_bits} fine bits needs more than {MAX_ENTRIES} "
            "entries; use a coarser scale or fewer fine bits"
        )
    with mpmath.workdps(DIGITS):
        unit = mpmath.mpf(2) ** (fine_bits - x_exponent) / exact_gain
        lnk = (mpmath.log(2) * j * unit for j in range(n + 2))
        lnm = (mpmath.log(1 + mpmath.mpf(u) / (1 << mantissa_bits)) * unit for u in range((1 << mantissa_bits) + 1))
        tables = [tuple(nearest(value, 0, 1 << 62) for value in values) for values in (lnk, lnm)]
    thresholds = tuple(1 << (table_bits + j) for j in range(1, n + 2))
    return LogTables(thresholds, tables[0], tables[1], out, 1 << fine_bits)


# Table, eps, thresholds and defaults of the integer tanh-l1 (`mfsim/ops/softmax/tanh_l1.py`, `tanh_l1_shift.py`).
#
# Symbols as in `mfsim/ops/softmax/tables.py`; P are the fraction bits of the table of tanh and of eps.


def tanh_l1_table_bits(fraction: int) -> int:
    """Return P = 12 up to F = 10, else F + 4.

    Parameters
    ----------
    fraction : int; F, at least 1.

    Returns
    -------
    int; bits, at least 12.
    """
    return 12 if fraction <= 10 else fraction + 4


@functools.lru_cache(maxsize=64)
def tanh_table(x_exponent: int, bits: int, table_bits: int, gain: float = 1.0, signed: bool = True) -> tuple[int, ...]:
    """Return round(2**P tanh(gain a 2**-e)) for magnitudes a = 0, 1, ... up to the first 2**P.

    Parameters
    ----------
    x_exponent : int
        -e.
    bits, signed : int, bool
        Word of x, 1..16 bits: a is in 0 .. 2**(bits - 1), the magnitude of the least code among them, or
        in 0 .. 2**bits - 1 if unsigned.
    table_bits : int
        P, 1..53.
    gain : float
        Positive.

    Returns
    -------
    tuple of ints
        Never falling, from 0; the last entry is that of every greater a.
    """
    _check_bits("bits", bits, 1, 16)
    _check_bits("table_bits", table_bits, 1, 53)
    limit = (1 << (bits - 1)) + 1 if signed else 1 << bits
    one, entries = 1 << table_bits, [0]
    with mpmath.workdps(DIGITS):
        step = checked_gain(gain) * mpmath.mpf(2) ** x_exponent
        while len(entries) < limit and entries[-1] < one:
            entries.append(nearest(mpmath.tanh(len(entries) * step) * one, 0, one))
    return tuple(entries)


def eps_code(eps: float, table_bits: int) -> int:
    """Return `eps` on the grid 2**-P: at least 1, so that the divisor of a row of zeros is positive.

    Parameters
    ----------
    eps : float; in 0..1, 0 left out.
    table_bits : int; P, at least 0.

    Returns
    -------
    int; in 1..2**P, rounded to nearest, halves up.

    Raises
    ------
    FormatError
        If `eps` is out of range.
    """
    if not 0 < eps <= 1:
        raise FormatError(f"`eps` must be positive and at most 1, not {eps!r}")
    return max(1, int(Fraction(eps) * (1 << table_bits) + Fraction(1, 2)))


def tanh_l1_shift_thresholds(table_bits: int, length: int) -> tuple[int, ...]:
    """Return ceil(2**(j - 1/2)), j = 1 .. P + n + 2: how many the divisor reaches is its log2, rounded.

    Parameters
    ----------
    table_bits : int; P.
    length : int; N, at least 1.

    Returns
    -------
    tuple of int; strictly ascending, from 2.
    """
    return nearest_power_thresholds(table_bits + row_bits(length) + 2)
