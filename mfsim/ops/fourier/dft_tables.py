"""Constants of the fixed-point Fourier transform of real codes: cosines, stages, bins, factors.

A stage joins blocks of m/2 codes into blocks of m. Bin k of a block lies at places k (real part) and
m - k (imaginary part), so that every stage works in place. Each new code is

    keep v[a] + turn ((v[b] u + v[c] w + half) >> T)

of old codes v, with cosines u, w on 2**-T: this is how `stages` states it, for hosts that gather. A
device computes each rotated bin once (`mfsim/ops/fourier/dft_magnitude.py`).

Source: Sorensen, Jones, Heideman and Burrus, "Real-Valued Fast Fourier Transform Algorithms", IEEE Trans.
ASSP-35, 1987 (real radix 2 in place).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction

import mpmath

from mfsim.errors import FormatError, ShapeError
from mfsim.ops.function_table import DIGITS

MOST_TWIDDLE_BITS = 30
"""The finest grid of the cosines is 2**-30."""

RADICAND_BITS = 62
"""What stands under a root is below 2**62."""

STRETCH = Fraction(1008, 1000)
"""Above sqrt(65) / 8: the most by which max(M + m/8, 7/8 M + m/2) exceeds the root of M**2 + m**2."""

Rows = tuple[tuple[int, ...], ...]


def check_length(n: int) -> int:
    """Return log2 n of a transform of n codes; a `ShapeError` unless n is a power of two of at least 4.

    Parameters
    ----------
    n : int; codes of a transform.

    Returns
    -------
    int; at least 2.

    Raises
    ------
    ShapeError
        If n is no power of two of at least 4.
    """
    if n < 4 or n & (n - 1):
        raise ShapeError(f"the length of a fixed-point Fourier transform must be a power of two of at least 4, not {n}")
    return n.bit_length() - 1


@functools.lru_cache(maxsize=64)
def cosines(n: int, twiddle_bits: int) -> tuple[int, ...]:
    """Return round(2**T cos(2 pi k / n)) for k = 0 .. n/4, which are sines in reverse.

    >>> cosines(8, 8)
    (256, 181, 0)

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    tuple of n/4 + 1 ints; from 2**T down to 0.

    Raises
    ------
    ShapeError
        If n is no such power.
    FormatError
        If T is out of range.
    """
    check_length(n)
    if not 1 <= twiddle_bits <= MOST_TWIDDLE_BITS:
        raise FormatError(f"`twiddle_bits` must be in 1..{MOST_TWIDDLE_BITS}, not {twiddle_bits}")
    with mpmath.workdps(DIGITS):
        return tuple(int(mpmath.nint(2**twiddle_bits * mpmath.cospi(mpmath.mpf(2 * k) / n))) for k in range(n // 4 + 1))


def reversed_bits(place: int, count: int) -> int:
    """Return the number whose `count` bits are those of `place` in reverse.

    Parameters
    ----------
    place : int; in 0..2**count - 1.
    count : int; at least 1.

    Returns
    -------
    int; in 0..2**count - 1.
    """
    return int(f"{place:0{count}b}"[::-1], 2)


@functools.lru_cache(maxsize=64)
def stages(n: int, twiddle_bits: int) -> tuple[tuple[Rows, ...], tuple[Rows, ...]]:
    """Return the log2 n stages as places (a, b, c) and weights (keep, turn, u, w), each a row of n for all places.

    The first stage reads the codes in their own order, the others what the stage before has left.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    places : tuple of stages of 3 rows; places of old codes, 0..n - 1.
    weights : tuple of stages of 4 rows; keep and turn in -1..1; u and w on 2**-T.
    """
    q, table, one = check_length(n), cosines(n, twiddle_bits), 1 << twiddle_bits
    places, weights, turned = [], [], [reversed_bits(p, q) for p in range(n)]
    for m in (1 << s for s in range(1, q + 1)):
        half, taken = m // 2, [((p, p, p), (1, 0, 0, 0)) for p in range(n)]
        for base in range(0, n, m):
            odd = base + half
            taken[base] = ((base, odd, odd), (1, 1, one, 0))
            taken[odd] = ((base, odd, odd), (1, -1, one, 0))
            for k in range(1, m // 4):
                cosine, sine = table[k * (n // m)], table[n // 4 - k * (n // m)]
                real, imaginary = (odd + k, base + m - k), (base + k, odd - k)
                taken[base + k] = ((imaginary[0], *real), (1, 1, cosine, -sine))
                taken[odd - k] = ((imaginary[0], *real), (1, -1, cosine, -sine))
                taken[base + m - k] = ((imaginary[1], *real), (1, 1, sine, cosine))
                taken[odd + k] = ((imaginary[1], *real), (-1, 1, sine, cosine))
        if m == 2:
            taken = [((turned[a], turned[b], turned[c]), by) for (a, b, c), by in taken]
        places.append(tuple(zip(*(from_ for from_, _ in taken), strict=True)))
        weights.append(tuple(zip(*(by for _, by in taken), strict=True)))
    return tuple(places), tuple(weights)


def bins(n: int) -> Rows:
    """Return for each of n bins the place of its real part, that of its imaginary part, and 1 where it is real.

    Bins above n/2 mirror those below. The imaginary place of a real bin is its real one.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.

    Returns
    -------
    tuple of 3 rows of n ints; places in 0..n - 1, and flags 0 or 1.
    """
    check_length(n)
    real = [min(k, n - k) for k in range(n)]
    ends = [int(k in (0, n // 2)) for k in real]
    return tuple(real), tuple(k if end else n - k for k, end in zip(real, ends, strict=True)), tuple(ends)


def power_places(n: int, guard: int, fraction: int, x_exponent: int) -> int:
    """Return p: twice a magnitude on the grid 2**-F is the root of 2**p (re**2 + im**2).

    Bins are G bits finer than x on 2**x_exponent, and 1 / sqrt(n) is n under the root, so no factor is left.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    guard, fraction : int; guard bits G, and F.
    x_exponent : int; x lies on 2**x_exponent.

    Returns
    -------
    int; in bits, of either sign.
    """
    return 2 * (x_exponent - guard + fraction + 1) - check_length(n)


def end_factor(n: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> tuple[int, int]:
    """Return (factor, places) of a real bin: its magnitude on the grid 2**-F is factor 2**places times |code|.

    The factor is 1 for even log2 n; else sqrt(1/2) on 2**-T, one of the cosines.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    guard, fraction : int; guard bits G, and F.
    x_exponent : int; x lies on 2**x_exponent.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    factor : int; at least 1.
    places : int; in bits, of either sign.
    """
    q = check_length(n)
    places = x_exponent - guard + fraction - q // 2
    return (cosines(n, twiddle_bits)[n // 8], places - twiddle_bits) if q % 2 else (1, places)


def factors(n: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> tuple[int, ...]:
    """Return 2**T, 2**G, the two factors 2**p (up, down) of a radicand, and factor, up and down of a real bin.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    guard, fraction : int; guard bits G, at least 0, and F.
    x_exponent : int; x lies on 2**x_exponent.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    tuple of 7 ints; positive; of each up and down one is 1.
    """
    p = power_places(n, guard, fraction, x_exponent)
    factor, h = end_factor(n, guard, fraction, x_exponent, twiddle_bits)
    return 1 << twiddle_bits, 1 << guard, 1 << max(p, 0), 1 << max(-p, 0), factor, 1 << max(h, 0), 1 << max(-h, 0)


def estimate_places(n: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> int:
    """Return h: an estimate of a magnitude, 8 times as fine as the bins, is factor 2**h codes on the grid 2**-F.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    guard, fraction : int; guard bits G, and F.
    x_exponent : int; x lies on 2**x_exponent.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    int; in bits, of either sign.
    """
    return end_factor(n, guard, fraction, x_exponent, twiddle_bits)[1] - 3


def estimate_factors(n: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> tuple[int, ...]:
    """Return 2**T, 2**G, and factor, up and down of an estimate.

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    guard, fraction : int; guard bits G, at least 0, and F.
    x_exponent : int; x lies on 2**x_exponent.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    tuple of 5 ints; positive; one of up and down is 1.
    """
    factor, _ = end_factor(n, guard, fraction, x_exponent, twiddle_bits)
    h = estimate_places(n, guard, fraction, x_exponent, twiddle_bits)
    return 1 << twiddle_bits, 1 << guard, factor, 1 << max(h, 0), 1 << max(-h, 0)


@functools.lru_cache(maxsize=256)
def bin_error(n: int, largest: int, twiddle_bits: int) -> Fraction:
    """Return a bound of |computed - exact| of a complex bin, in codes, for codes of at most `largest` in magnitude.

    A stage adds both halves; the rotated one is rounded twice (a distance of sqrt(1/2) at most) and
    multiplied by cosines that are off by 2**-(T+1) each:

        E(m) = E(m/2) (2 + d) + (m/2) largest d + sqrt(1/2),   d = sqrt(2) 2**-(T+1),   E(4) = 0

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    largest : int; greatest magnitude of a code, after the shift by G.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    Fraction; in codes of a bin; 0 for n = 4.
    """
    root = Fraction(70711, 100000)  # above sqrt(1/2)
    off, error, m = root / (1 << twiddle_bits), Fraction(0), 8
    while m <= n:
        error = error * (2 + off) + (m // 2) * largest * off + root
        m *= 2
    return error


def result_error(n: int, largest: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> float:
    """Return the proved bound of a result's error in LSB, before it is rounded (which adds 1/2).

    Parameters
    ----------
    largest : int
        Greatest magnitude of a code of x.
    """
    lsb: float = 2.0 ** (x_exponent - guard + fraction) * n**-0.5
    inner = float(bin_error(n, largest << guard, twiddle_bits))
    ends = n * (largest << guard) * 2.0 ** -(twiddle_bits + 1) * 2**0.5 if check_length(n) % 2 else 0.0
    return max(inner, ends) * lsb


def estimate_error(n: int, largest: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> float:
    """Return the proved bound in LSB of an estimate's error against that of exact bins, before it is rounded.

    Estimates of two bins differ by at most `STRETCH` times their distance; for odd log2 n each takes sqrt(1/2).

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    largest : int; greatest magnitude of a code of x.
    guard, fraction : int; guard bits G, at least 0, and F.
    x_exponent : int; x lies on 2**x_exponent.
    twiddle_bits : int; T, 1..30.

    Returns
    -------
    float; LSB of the grid 2**-F.
    """
    lsb: float = 2.0 ** (x_exponent - guard + fraction) * n**-0.5
    inner = float(bin_error(n, largest << guard, twiddle_bits))
    ends = (n * (largest << guard) + inner) * 2.0 ** -(twiddle_bits + 1) * 2**0.5 if check_length(n) % 2 else 0.0
    return float(STRETCH) * (inner + ends) * lsb


@functools.lru_cache(maxsize=256)
def defaults(
    n: int, largest: int, fraction: int, x_exponent: int, error: Callable[..., float] = result_error
) -> tuple[int, int]:
    """Return (G, T): the fewest guard and cosine bits that keep `error` at 1/4 LSB, as far as words allow.

    >>> defaults(64, 128, 4, -4), defaults(8, 128, 4, -4)
    ((4, 14), (2, 11))

    Parameters
    ----------
    n : int; length, a power of two of at least 4.
    largest : int; greatest magnitude of a code of x.
    fraction : int; F: the result lies on 2**-F.
    x_exponent : int; x lies on 2**x_exponent.
    error : callable; `result_error` or `estimate_error`.

    Returns
    -------
    guard : int; G, at least 0.
    twiddle_bits : int; T, 1..30.
    """
    q = check_length(n)
    most = (RADICAND_BITS - 2 - 2 * (q + largest.bit_length())) // 2
    most = max(0, min(most, RADICAND_BITS - MOST_TWIDDLE_BITS - q - largest.bit_length() - 2))
    guard = next((g for g in range(most) if error(n, largest, g, fraction, x_exponent, 30) <= 0.125), most)
    bits = range(1, MOST_TWIDDLE_BITS)
    fitting = (t for t in bits if error(n, largest, guard, fraction, x_exponent, t) <= 0.25)
    return guard, next(fitting, MOST_TWIDDLE_BITS)
