"""Constants of the fixed-point cosine transform of Lee: multipliers, stages, bounds of words and errors.

A stage gives each new code as

    keep v[a] + turn ((v[b] u + v[c] w + half) >> T)

of old codes v, with multipliers u, w on 2**-T; so hosts gather and add. A device computes each difference
and product once (`mfsim/ops/fourier/dct.py`).

A cosine transform of n = 2**q codes is orthonormal up to a power of two if every output but the first gets
sqrt(2) for even q, or the first sqrt(1/2) for odd q. Every output but the first passes through exactly one
difference of plain sums, so for even q the multipliers there hold sqrt(2) already, at no cost.

Source: Lee, "A New Algorithm to Compute the Discrete Cosine Transform", IEEE Trans. ASSP-32, 1984.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import mpmath
import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ops.function_table import DIGITS

MOST_MULTIPLIER_BITS = 30
"""The finest grid of the multipliers is 2**-30."""

MARGIN = 1 + 2.0**-30
"""Far above what float64 loses in the sums of the bounds."""

PRODUCT_BITS = 61
"""Bits that a product with a multiplier has at most, for `defaults`."""

Entry = tuple[tuple[int, int, int], tuple[float, float, float, float]]

Rows = tuple[tuple[int, ...], ...]


def check_length(n: int) -> int:
    """Return log2 n of a transform of n codes; a `ShapeError` unless n is a power of two of at least 2.

    Parameters
    ----------
    n : int; codes of a transform.

    Returns
    -------
    int; at least 1.

    Raises
    ------
    ShapeError
        If n is no power of two of at least 2.
    """
    if n < 2 or n & (n - 1):
        raise ShapeError(f"the length of a fast cosine transform must be a power of two of at least 2, not {n}")
    return n.bit_length() - 1


@functools.lru_cache(maxsize=64)
def multipliers(n: int, multiplier_bits: int) -> tuple[int, ...]:
    """Return 1 and all multipliers on 2**-T: for each block length m = n, n/2, .. 2 two rows of m/2, then sqrt(1/2).

    The second row is 1 / (2 cos((2 i + 1) pi / (2 m))); the first, for the differences of plain sums, sqrt(2) times
    that for even log2 n.

    >>> multipliers(4, 4)
    (16, 12, 30, 9, 21, 16, 11, 11)

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    multiplier_bits : int; T, 1..30.

    Returns
    -------
    tuple of 2 n ints; codes on 2**-T, rounded to nearest.

    Raises
    ------
    ShapeError
        If n is no such power.
    FormatError
        If T is out of range.
    """
    _check_bits(multiplier_bits)
    with mpmath.workdps(DIGITS):
        return tuple(int(mpmath.nint(value * 2**multiplier_bits)) for value in _reals(n))


def _check_bits(multiplier_bits: int) -> None:
    """Raise `FormatError` unless T is possible."""
    if not 1 <= multiplier_bits <= MOST_MULTIPLIER_BITS:
        raise FormatError(f"`multiplier_bits` must be in 1..{MOST_MULTIPLIER_BITS}, not {multiplier_bits}")


def _reals(n: int) -> list[mpmath.mpf]:
    q, found = check_length(n), [mpmath.mpf(1)]
    for m in (n >> level for level in range(q)):
        plain = [1 / (2 * mpmath.cospi(mpmath.mpf(2 * i + 1) / (2 * m))) for i in range(m // 2)]
        found += [value * mpmath.sqrt(2) for value in plain] if q % 2 == 0 else plain
        found += plain
    return [*found, mpmath.sqrt(mpmath.mpf(1) / 2)]


def _entries(n: int, table: Sequence[float]) -> list[list[Entry]]:
    """Return the stages for multipliers `table`."""
    q, made, one = check_length(n), [], table[0]
    for m in (n >> level for level in range(q)):
        stage: list[Entry] = [((0, 0, 0), (0, 0, 0, 0))] * n
        for base, i in itertools.product(range(0, n, m), range(m // 2)):
            first, last = base + i, base + m - 1 - i
            factor = table[1 + 2 * (n - m) + i + (m // 2 if base else 0)]
            stage[first] = ((first, last, last), (1, 1, one, 0))
            stage[base + m // 2 + i] = ((first, first, last), (0, 1, factor, -factor))
        made.append(stage)
    if q % 2:
        kept: list[Entry] = [((p, p, p), (1, 0, 0, 0)) for p in range(n)]
        made.append([((0, 0, 0), (0, 1, table[-1], 0)), *kept[1:]])
    for m in (4 << level for level in range(q - 1)):
        stage = [((0, 0, 0), (0, 0, 0, 0))] * n
        for base, k in itertools.product(range(0, n, m), range(m // 2)):
            odd, following = base + m // 2 + k, base + m // 2 + k + 1
            stage[base + 2 * k] = ((base + k,) * 3, (1, 0, 0, 0))
            has_next = following < base + m
            stage[base + 2 * k + 1] = ((odd, *((following,) * 2 if has_next else (odd,) * 2)), (1, has_next, one, 0))
        made.append(stage)
    return made


@functools.lru_cache(maxsize=64)
def stages(n: int, multiplier_bits: int) -> tuple[tuple[Rows, ...], tuple[Rows, ...]]:
    """Return the stages as places (a, b, c) and weights (keep, turn, u, w), each a row of n for all new codes.

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    multiplier_bits : int; T, 1..30.

    Returns
    -------
    places : tuple of stages of 3 rows; places of old codes, 0..n - 1.
    weights : tuple of stages of 4 rows; keep and turn 0 or 1; u and w on 2**-T.
    """
    made = _entries(n, multipliers(n, multiplier_bits))
    places = tuple(tuple(zip(*(from_ for from_, _ in stage), strict=True)) for stage in made)
    weights = tuple(tuple(tuple(map(int, row)) for row in zip(*(by for _, by in stage), strict=True)) for stage in made)
    return places, weights


def result_places(n: int, guard: int, fraction: int, x_exponent: int) -> int:
    """Return h: a result on the grid 2**-F is 2**h times a code behind the stages.

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    guard, fraction : int; guard bits G, and F.
    x_exponent : int; x lies on 2**x_exponent.

    Returns
    -------
    int; in bits, of either sign.
    """
    return x_exponent - guard + fraction - check_length(n) // 2


def factors(n: int, guard: int, fraction: int, x_exponent: int, multiplier_bits: int) -> tuple[int, int, int, int]:
    """Return 2**T, 2**G, and the two factors 2**h (up, down) of a result.

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    guard, fraction : int; guard bits G, at least 0, and F.
    x_exponent : int; x lies on 2**x_exponent.
    multiplier_bits : int; T, 1..30.

    Returns
    -------
    tuple of 4 ints; powers of two; one of the last two is 1.
    """
    h = result_places(n, guard, fraction, x_exponent)
    return 1 << multiplier_bits, 1 << guard, 1 << max(h, 0), 1 << max(-h, 0)


def _arrays(made: list[list[Entry]]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (np.array([from_ for from_, _ in stage]).T, np.array([by for _, by in stage], dtype=np.float64).T)
        for stage in made
    ]


@functools.lru_cache(maxsize=512)
def bounds(n: int, multiplier_bits: int, largest: int) -> tuple[int, int, int, int, float]:
    """Return what holds for codes of at most `largest` in magnitude, G bits included.

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    multiplier_bits : int; T, 1..30.
    largest : int; greatest magnitude of a code, after the shift by G.

    Returns
    -------
    (code, pair, product, result) : ints
        Greatest magnitudes of a code of any stage, a difference in front of a multiplier, its product before
        rounding, and a code behind the last stage: the sum of magnitudes of the coefficients of the codes of x,
        plus what the roundings so far can add.
    error : float
        Of a code behind the last stage: each rounding adds at most 1/2 and each multiplier 2**-(T+1) times what it
        meets, weighted by the stages behind.
    """
    one = float(1 << multiplier_bits)
    rounded = _arrays(_entries(n, multipliers(n, multiplier_bits)))
    with mpmath.workdps(DIGITS):
        real = _arrays(_entries(n, [float(value) for value in _reals(n)]))
    linear, exact, off = np.eye(n), np.eye(n), np.zeros(n)
    code = pair = product = 0.0
    added: list[np.ndarray] = []
    for ((a, b, c), (keep, turn, u, w)), (_, (_, _, real_u, real_w)) in zip(rounded, real, strict=True):
        met = u[:, None] * linear[b] + w[:, None] * linear[c]
        multiplied = (turn != 0) & ~((u == one) & (w == 0))
        reach = np.abs(met).sum(1) * largest + np.abs(u) * off[b] + np.abs(w) * off[c]
        if multiplied.any():
            apart = np.abs(linear[b] - np.where(w[:, None] != 0, linear[c], 0)).sum(1) * largest + off[b] + off[c]
            pair, product = max(pair, apart[multiplied].max()), max(product, reach[multiplied].max() + one / 2)
        in_exact = real_u[:, None] * exact[b] + real_w[:, None] * exact[c]
        drift = np.abs(in_exact).sum(1) * largest / np.maximum(np.abs(real_u), 1e-9) / (2 * one)
        added.append(np.where(multiplied, 0.5 + drift, 0.0))
        off = keep * off[a] + np.abs(turn) * (np.abs(u) * off[b] + np.abs(w) * off[c]) / one + 0.5 * multiplied
        linear = keep[:, None] * linear[a] + turn[:, None] * met / one
        exact = keep[:, None] * exact[a] + turn[:, None] * in_exact
        code = max(code, (np.abs(linear).sum(1) * largest + off).max())
    error, behind = np.zeros(n), np.eye(n)
    for ((a, b, c), (keep, turn, u, w)), more in zip(reversed(rounded), reversed(added), strict=True):
        error = error + np.abs(behind) @ more
        stage = np.zeros((n, n))
        for places, by in ((a, keep), (b, turn * u / one), (c, turn * w / one)):
            np.add.at(stage, (np.arange(n), places), by)
        behind = behind @ stage
    result = (np.abs(linear).sum(1) * largest + error).max()
    found = (int(value * MARGIN) + 1 for value in (max(code, largest), pair, product, result))
    return (*found, float(error.max()) * MARGIN)  # type: ignore[return-value]


def result_error(n: int, largest: int, guard: int, fraction: int, x_exponent: int, multiplier_bits: int) -> float:
    """Return the proved bound of a result's error in LSB, before it is rounded (which adds 1/2).

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    largest : int; greatest magnitude of a code of x.
    guard, fraction : int; guard bits G, at least 0, and F.
    x_exponent : int; x lies on 2**x_exponent.
    multiplier_bits : int; T, 1..30.

    Returns
    -------
    float; LSB of the grid 2**-F.
    """
    error = bounds(n, multiplier_bits, largest << guard)[-1]
    return float(error * 2.0 ** result_places(n, guard, fraction, x_exponent))


@functools.lru_cache(maxsize=256)
def defaults(n: int, largest: int, fraction: int, x_exponent: int) -> tuple[int, int]:
    """Return (G, T): the fewest guard and multiplier bits that keep `result_error` at 1/4 LSB, as far as words allow.

    Parameters
    ----------
    n : int; length, a power of two of at least 2.
    largest : int; greatest magnitude of a code of x.
    fraction : int; F: the result lies on 2**-F.
    x_exponent : int; x lies on 2**x_exponent.

    Returns
    -------
    guard : int; G, 0..23.
    multiplier_bits : int; T, 1..30.
    """

    def fits(guard: int, bits: int) -> bool:
        return bounds(n, bits, largest << guard)[2].bit_length() < PRODUCT_BITS

    most = next((g for g in reversed(range(24)) if fits(g, 16)), 0)
    guard = next((g for g in range(most) if result_error(n, largest, g, fraction, x_exponent, 30) <= 0.125), most)
    possible = [bits for bits in range(1, MOST_MULTIPLIER_BITS + 1) if fits(guard, bits)]
    fitting = (bits for bits in possible if result_error(n, largest, guard, fraction, x_exponent, bits) <= 0.25)
    return guard, next(fitting, possible[-1])
