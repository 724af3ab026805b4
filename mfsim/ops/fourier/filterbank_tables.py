"""Constants of the fixed-point filterbank: stages of a Fourier transform of an image, bounds of words and errors.

Two features of a head are one complex image of g x g patches. Rows and columns go through a transform of radix 2 of
decimated codes; it is its own inverse, up to g**2, once real and imaginary parts change places before and behind it. Of
the 2 g**2 codes, real parts stand in front. As in `mfsim/ops/fourier/dft_tables.py` hosts gather in stages, while a device
computes each turned code once (`mfsim/ops/fourier/filterbank.py`).

**Bounds.** z has g**2 complex codes of |z| <= sqrt(2) M. A stage is sqrt(2) times a unitary matrix, but for cosines that
are off by 2**-(T+1), which stretch it by at most 1 + d, d = sqrt(1/2) 2**-T, and roundings, each of which moves a turned
code by at most sqrt(1/2). A stage of blocks of m turns g**2 (1/2 - 2/m) codes, each of which two new ones take in; so its
roundings are a vector of at most g sqrt(1/2 - 2/m) in the Euclidean norm. No part of a vector is longer than the vector.
What the wrong cosines do is real and linear like the filter, so there both features count alone, with |x| <= M.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from mfsim.errors import ShapeError
from mfsim.ops.fourier.dft_tables import MOST_TWIDDLE_BITS, Rows, cosines, reversed_bits
from mfsim.ops.fourier.dft_tables import check_length as check_dft_length

MARGIN = 1 + 2.0**-30
"""Far above what float64 loses in the sums of the bounds."""

PRODUCT_BITS = 61
"""Bits that a product has at most, for `defaults`."""

MOST_GUARD = 30

Entry = tuple[tuple[int, int, int], tuple[int, int, int, int]]


def check_grid(grid: int) -> int:
    """Return log2 of the side of a grid; a `ShapeError` unless the side is a power of two of at least 4.

    Parameters
    ----------
    grid : int
        g, patches along a side of an image.

    Returns
    -------
    int
        At least 2.

    Raises
    ------
    ShapeError
        If g is no power of two of at least 4.
    """
    if grid < 4 or grid & (grid - 1):
        raise ShapeError(
            f"the grid of a filterbank by Fourier transforms must have a side that is a power of two of at least 4, "
            f"not {grid}; the form product takes any"
        )
    return check_dft_length(grid)


def _turned(table: tuple[int, ...], grid: int, m: int, k: int) -> tuple[Entry, Entry]:
    """Return how a code of a block of m takes in exp(2 pi j k / m) O, k < m/2: its real part, its imaginary part.

    Places are 0 and 1 for the parts of O; the kept place is filled in by the caller. By j nothing is computed.
    """
    one, quarter = table[0], m // 4
    turns, k = divmod(k, quarter) if quarter else (0, k)
    cosine, sine = (table[k * (grid // m)], table[grid // 4 - k * (grid // m)]) if k else (one, 0)
    along: Entry = (0, 0, 1), (1, 1, cosine, -sine)
    across: Entry = (0, 1, 0), (1, 1, cosine, sine)
    if turns:
        (places, (keep, _, u, w)) = across
        return (places, (keep, -1, u, w)), along
    return along, across


@functools.lru_cache(maxsize=16)
def stages(grid: int, twiddle_bits: int) -> tuple[tuple[Rows, ...], tuple[Rows, ...]]:
    """Return the 2 log2 g stages as places (a, b, c) and weights (keep, turn, u, w), each a row for all 2 g**2 codes.

    A new code is keep v[a] + turn ((v[b] u + v[c] w + half) >> T). The first stage of an axis reads it in the order of
    reversed bits.

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    twiddle_bits : int
        T, 1..30.

    Returns
    -------
    places : tuple of stages of 3 rows
        Places of old codes, 0..2 g**2 - 1.
    weights : tuple of stages of 4 rows
        keep and turn in -1..1; u and w on 2**-T.
    """
    q, table, size = check_grid(grid), cosines(grid, twiddle_bits), grid * grid
    places, weights = [], []
    for step, other in ((1, grid), (grid, 1)):
        for m in (1 << s for s in range(1, q + 1)):
            order = [reversed_bits(i, q) if m == 2 else i for i in range(grid)]
            taken: list[Entry] = [((0, 0, 0), (0, 0, 0, 0))] * (2 * size)
            for line in range(0, grid * other, other):
                for low in (base + k for base in range(0, grid, m) for k in range(m // 2)):
                    even, odd = (line + order[i] * step for i in (low, low + m // 2))
                    for part, (met, by) in enumerate(_turned(table, grid, m, low % m)):
                        from_ = (even + part * size, odd + met[1] * size, odd + met[2] * size)
                        at = line + low * step + part * size
                        taken[at] = (from_, by)
                        taken[at + m // 2 * step] = (from_, (by[0], -by[1], *by[2:]))
            places.append(tuple(zip(*(from_ for from_, _ in taken), strict=True)))
            weights.append(tuple(zip(*(by for _, by in taken), strict=True)))
    return tuple(places), tuple(weights)


def result_places(grid: int, guard: int, fraction: int, x_exponent: int) -> int:
    """Return h: a result on the grid 2**-F is 2**h times a code behind both transforms, which hold g**2.

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    guard, fraction : int
        Guard bits G, and F.
    x_exponent : int
        x lies on 2**x_exponent.

    Returns
    -------
    int
        In bits, of either sign.
    """
    return x_exponent - guard + fraction - 2 * check_grid(grid)


def factors(grid: int, guard: int, fraction: int, x_exponent: int, twiddle_bits: int) -> tuple[int, ...]:
    """Return 2**T, 2**G, and as (up, down) the factors 2**h of a result and 2**(e+F) of a code that passes through.

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    guard, fraction : int
        Guard bits G, at least 0, and F.
    x_exponent : int
        x lies on 2**x_exponent.
    twiddle_bits : int
        T, 1..30.

    Returns
    -------
    tuple of 6 ints
        Powers of two; of each up and down one is 1.
    """
    h, passed = result_places(grid, guard, fraction, x_exponent), x_exponent + fraction
    return (1 << twiddle_bits, 1 << guard, *(1 << max(places, 0) for places in (h, -h, passed, -passed)))


@dataclass(frozen=True)
class Bounds:
    """Greatest magnitudes for images of `largest` in magnitude, G bits included.

    Attributes
    ----------
    spectrum : of a code of the first transform
    turned : of a code in front of a cosine
    filtered : of a code of the second transform
    result : of a code behind it
    error : of a code behind it, divided by g**2, against the filter with the same gains
    """

    spectrum: float
    turned: float
    filtered: float
    result: float
    error: float


@functools.lru_cache(maxsize=1024)
def bounds(grid: int, largest: int, twiddle_bits: int, most: float, norm: float, reach: float) -> Bounds:
    """Return what holds for gains of at most `most` in magnitude.

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    largest : int
        Greatest magnitude of a code of x, after the shift by G.
    twiddle_bits : int
        T, 1..30.
    most : float
        Greatest magnitude of a gain.
    norm : float
        Root of the sum of the gains' squares.
    reach : float
        Sum of magnitudes of the filter's impulse response.

    Returns
    -------
    Bounds
        In codes.
    """
    q, size, half = check_grid(grid), grid * grid, 0.5**0.5
    stretch = (1 + half * 2.0**-twiddle_bits) ** (2 * max(q - 2, 0))
    noise = sum(
        grid * (0.5 - 2.0 ** (1 - s)) ** 0.5 * 2.0 ** ((behind + q - s) / 2)
        for behind in (q, 0)
        for s in range(3, q + 1)
    )
    noise *= stretch
    complex_largest = 2**0.5 * largest
    spectrum = size * complex_largest * stretch + noise
    scaled = norm * (stretch * size * complex_largest + noise) + size * half
    filtered = stretch * scaled + noise
    drift = most * (stretch**2 - 1) * grid * largest
    error = drift + (grid * stretch * (most * noise + grid * half) + noise) / size
    turned = max(size / 2 * complex_largest * stretch + noise, filtered)
    result = size * (largest * reach + error)
    return Bounds(*(value * MARGIN for value in (spectrum, turned, filtered, result, error)))


def result_error(
    grid: int, largest: int, most: float, guard: int, fraction: int, x_exponent: int, twiddle_bits: int
) -> float:
    """Return the proved bound of a result's error in LSB against the filter with the same gains, before it is rounded.

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    largest : int
        Greatest magnitude of a code of x.
    most : float
        Greatest magnitude of a gain.
    guard, fraction : int
        Guard bits G, at least 0, and F.
    x_exponent : int
        x lies on 2**x_exponent.
    twiddle_bits : int
        T, 1..30.

    Returns
    -------
    float
        LSB of the grid 2**-F; rounding adds 1/2.
    """
    error = bounds(grid, largest << guard, twiddle_bits, most, grid * most, grid * most).error
    return error * 2.0 ** (x_exponent - guard + fraction)


def gain_error(grid: int, largest: int, gain_places: int, fraction: int, x_exponent: int) -> float:
    """Return the proved bound in LSB of what gains rounded to 2**-B do to a result: g M 2**-(B+1) on the grid of x.

    Parameters
    ----------
    grid : int
        g, patches along a side.
    largest : int
        Greatest magnitude M of a code of x.
    gain_places : int
        B, bits behind the point of the gains.
    fraction : int
        F: the result lies on 2**-F.
    x_exponent : int
        x lies on 2**x_exponent.

    Returns
    -------
    float
        LSB of the grid 2**-F.
    """
    return grid * largest * 2.0 ** (x_exponent + fraction - gain_places - 1)


@functools.lru_cache(maxsize=256)
def defaults(grid: int, largest: int, most: float, gain_bits: int, fraction: int, x_exponent: int) -> tuple[int, int]:
    """Return (G, T): the fewest guard and cosine bits that keep `result_error` at 1/4 LSB, as far as words allow.

    >>> defaults(8, 128, 0.125, 8, 4, -4), defaults(16, 128, 1.0, 8, 4, -4)
    ((4, 12), (6, 17))

    Parameters
    ----------
    grid : int
        g, a power of two of at least 4.
    largest : int
        Greatest magnitude of a code of x.
    most : float
        Greatest magnitude of a gain.
    gain_bits : int
        Bits of the word of the gains.
    fraction : int
        F: the result lies on 2**-F.
    x_exponent : int
        x lies on 2**x_exponent.

    Returns
    -------
    guard : int
        G, 0..29.
    twiddle_bits : int
        T, 1..30.
    """

    def fits(guard: int, bits: int) -> bool:
        found = bounds(grid, largest << guard, bits, most, grid * most, grid * most)
        width = int(max(found.spectrum, found.turned, found.result)).bit_length()
        return width + max(bits, gain_bits) + 2 < PRODUCT_BITS

    guards = [g for g in range(MOST_GUARD) if fits(g, 16)] or [0]
    small = (g for g in guards if result_error(grid, largest, most, g, fraction, x_exponent, 30) <= 0.125)
    guard = next(small, guards[-1])
    places = [t for t in range(1, MOST_TWIDDLE_BITS + 1) if fits(guard, t)] or [1]
    fine = (t for t in places if result_error(grid, largest, most, guard, fraction, x_exponent, t) <= 0.25)
    return guard, next(fine, places[-1])
