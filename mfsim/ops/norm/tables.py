"""Integers of the norms: eps, guard bits, the power of two behind a reciprocal, thresholds.

A norm of N codes q on 2**x_exponent works on sums that are never rounded: V = N sum q**2 - (sum q)**2
(LayerNorm) or N sum q**2 (RMSNorm), shifted by G guard bits on each side of the root, plus eps in the
same unit. With G = F + 2 the floored root adds at most a quarter of an LSB of the grid 2**-F for every
row, because V is at least N - 1 where a row is not constant.

Source of the bound |c| <= sqrt((N - 1) V): Samuelson, "How deviant can you be?", J. Amer. Statist. Assoc. 63, 1968.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import mpmath

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import Format
from mfsim.ops.function_table import DIGITS

RADICAND_BITS = 62
"""What stands under a root is below 2**62, so that its integer root can be corrected in int64."""

GAIN_PLACES = 8
"""Gains of a shift norm are 2**-8 .. 2**8, as codes 2**0 .. 2**16 on 2**-8."""

PRODUCT_BITS = 60
"""Bits of a normalised code times a reciprocal."""


def row_bits(width: int) -> int:
    """Return n, the least integer with 2**n >= `width`.

    >>> [row_bits(width) for width in (1, 2, 64, 65)]
    [0, 1, 6, 7]

    Parameters
    ----------
    width : int
        N, entries of a row.

    Returns
    -------
    int
        Bits, at least 0.

    Raises
    ------
    FormatError
        If `width` is below 1.
    """
    if width < 1:
        raise FormatError(f"`width` of a norm must be at least 1, not {width}")
    return (width - 1).bit_length()


def _signed_bits(x_format: Format) -> int:
    """Return the bits of the smallest signed word that holds `x_format`."""
    return x_format.bits + (not x_format.signed)


def eps_code(eps: float, width: int, x_exponent: int, guard: int) -> int:
    """Return eps * N**2 * 4**(guard - x_exponent), rounded, halves up.

    Parameters
    ----------
    eps : float
        Added to the variance; finite and at least 0.
    width : int
        N, the length of a row.
    x_exponent : int
        Code c of the row stands for c * 2**x_exponent.
    guard : int
        G, guard bits on each side of the root.

    >>> eps_code(1e-5, 65, -4, 7)
    177209
    """
    if not 0 <= eps < float("inf"):
        raise FormatError(f"`eps` of a norm must be finite and at least 0, not {eps}")
    scaled = Fraction(eps) * width**2 * Fraction(4) ** (guard - x_exponent)
    return int(scaled + Fraction(1, 2))


def guard_bits(fraction: int, x_format: Format, width: int, x_exponent: int, eps: float) -> int:
    """Return G = F + 2, or less where the radicand would pass 62 bits.

    Parameters
    ----------
    fraction : int
        F; the result lies on the grid 2**-F.
    x_format : Format
        Word of the row.
    width, x_exponent, eps : see `eps_code`.

    Returns
    -------
    int
        min(F + 2, (61 - (2b - 2 + 2n)) // 2), at least 0; less by the bits that eps alone has past 61.

    Raises
    ------
    RangeError
        If the radicand passes 62 bits without guard bits.

    >>> [guard_bits(10, Format(16), width, -10, 1e-5) for width in (65, 192, 768, 4096)]
    [8, 7, 5, 3]
    """
    variance_bits = 2 * _signed_bits(x_format) - 2 + 2 * row_bits(width)
    largest = (RADICAND_BITS - 1 - variance_bits) // 2
    while largest >= 0 and eps_code(eps, width, x_exponent, largest) >= 1 << (RADICAND_BITS - 1):
        largest -= 1
    if largest < 0:
        raise RangeError(
            f"a norm of {width} codes of {x_format} with `eps` {eps} needs more than {RADICAND_BITS} bits under its root"
        )
    return min(max(fraction + 2, 0), largest)


def reciprocal_bits(fraction: int, x_format: Format, width: int, guard: int, gamma_bits: int) -> int:
    """Return K: the reciprocal of the root D is 2**K // D.

    Parameters
    ----------
    fraction, x_format, width : see `guard_bits`.
    guard : int
        G.
    gamma_bits : int
        Least integer with |gamma| <= 2**gamma_bits.

    Returns
    -------
    int
        b - 1 + n + G + F + 2 + n / 2, which adds at most gamma / 4 LSB, or less where a product would
        pass 60 bits; halves of n are rounded up.

    >>> reciprocal_bits(10, Format(16), 4096, 3, 1)
    43
    """
    n = row_bits(width)
    wanted = _signed_bits(x_format) - 1 + n + guard + fraction + 2 + (n + 1) // 2
    return min(wanted, PRODUCT_BITS - fraction - (n + 1) // 2 - gamma_bits)


@functools.lru_cache(maxsize=64)
def shift_thresholds(kind: str, x_format: Format, width: int) -> tuple[int, ...]:
    """Return the statistics from which on N sigma is rounded to 2**j, j = 1 .. b + n + 1.

    Parameters
    ----------
    kind : {"l1", "l2"}
        The statistic: sum |c|, with sigma sqrt(pi / 2) of the mean deviation, or V; c = N q - sum q.
    x_format : Format
        Word of the row.
    width : int
        N, the length of a row.

    Returns
    -------
    tuple of ints, ascending
        l1: ceil(N sqrt(2 / pi) 2**(j - 1/2)); l2: 2**(2j - 1).

    Raises
    ------
    RangeError
        If a threshold passes 63 bits.

    >>> shift_thresholds("l1", Format(2), 1), shift_thresholds("l2", Format(2), 1)
    ((2, 3, 5), (2, 8, 32))
    """
    if kind not in ("l1", "l2"):
        raise FormatError(f"`kind` of a norm must be l1 or l2, not {kind!r}")
    places = range(1, _signed_bits(x_format) + row_bits(width) + 2)
    if kind == "l2":
        thresholds = tuple(1 << (2 * j - 1) for j in places)
    else:
        with mpmath.workdps(DIGITS):
            unit = width * mpmath.sqrt(1 / mpmath.pi)  # sqrt(2 / pi) * 2**(-1/2)
            thresholds = tuple(int(mpmath.ceil(unit * 2**j)) for j in places)
    Format.of_range(0, thresholds[-1], f"the last threshold of a norm of {width} codes of {x_format}")
    return thresholds
