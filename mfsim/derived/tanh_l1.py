"""Table, eps, thresholds and defaults of the integer tanh-l1 (`mfsim/ops/tanh_l1.py`, `tanh_l1_shift.py`).

Symbols as in `mfsim/derived/softmax.py`; P are the fraction bits of the table of tanh and of eps.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import mpmath

from mfsim.derived.normalisers import check_bits, nearest_power_thresholds, row_bits
from mfsim.derived.tables import DIGITS, checked_gain, nearest
from mfsim.errors import FormatError


def default_table_bits(fraction: int) -> int:
    """Return P = 12 up to F = 10, else F + 4."""
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
    check_bits("bits", bits, 1, 16)
    check_bits("table_bits", table_bits, 1, 53)
    limit = (1 << (bits - 1)) + 1 if signed else 1 << bits
    one, entries = 1 << table_bits, [0]
    with mpmath.workdps(DIGITS):
        step = checked_gain(gain) * mpmath.mpf(2) ** x_exponent
        while len(entries) < limit and entries[-1] < one:
            entries.append(nearest(mpmath.tanh(len(entries) * step) * one, 0, one))
    return tuple(entries)


def eps_code(eps: float, table_bits: int) -> int:
    """Return `eps` on the grid 2**-P: at least 1, so that the divisor of a row of zeros is positive."""
    if not 0 < eps <= 1:
        raise FormatError(f"`eps` must be positive and at most 1, not {eps!r}")
    return max(1, int(Fraction(eps) * (1 << table_bits) + Fraction(1, 2)))


def shift_thresholds(table_bits: int, length: int) -> tuple[int, ...]:
    """Return ceil(2**(j - 1/2)), j = 1 .. P + n + 2: how many the divisor reaches is its log2, rounded."""
    return nearest_power_thresholds(table_bits + row_bits(length) + 2)
