"""Whether a table is an affine map, rounded and saturated: decided exactly, by slopes between half steps.

A rising line a*i + b explains a table t when it passes within 1/2 of every entry between the two saturated
ends, lies at most 1/2 above the first end, and at least 1/2 below the last: t = clip(round(a*i + b)), with
any rule for ties. Eliminating b leaves one condition for each pair of entries:

    a >= (low_i - high_j) / (i - j),   j < i,        a <= (high_j - low_i) / (j - i),   i < j

with low = t - 1/2 and high = t + 1/2 where an entry states them. The greatest left and the least right side
are tangents from a point to a convex hull, so n entries take O(n log n) exact integer operations
(J. O'Rourke, "An on-line algorithm for fitting straight lines between data ranges", 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Point = tuple[int, int]


def rising_slopes(entries: Sequence[int]) -> tuple[Fraction, Fraction | None] | None:
    """Return the slopes of all rising lines that explain a table.

    Parameters
    ----------
    entries : Python ints of any size, at least one; equal ones at either end count as saturated.

    Returns
    -------
    (least, greatest) slope, both included, the least at least 0 and the greatest None where there is no
    bound; None if no rising line explains the table.
    """
    last = len(entries) - 1
    begin, end = 0, last
    while begin < last and entries[begin + 1] == entries[0]:
        begin += 1
    while end > 0 and entries[end - 1] == entries[last]:
        end -= 1
    if begin >= end:
        return (Fraction(0), None) if begin == last else None
    steps = [entries[i + 1] - entries[i] for i in range(begin + 1, end - 1)]
    if steps and max(steps) - min(steps) > 2:  # two steps of rounded points of a line differ by at most 2
        return None
    # In half steps: low = 2 t - 1 and high = 2 t + 1, slopes twice as steep.
    lows = [(i, 2 * entries[i] - 1) for i in range(begin + 1, last + 1)]
    highs = [(i, 2 * entries[i] + 1) for i in range(end)]
    # A line from a high point to a later low point is a lower bound; from a low point to a later high one, an upper.
    least = _greatest_slope(highs, lows)
    mirrored = _greatest_slope([(x, -y) for x, y in lows], [(x, -y) for x, y in highs])
    low = max(Fraction(0), least / 2) if least is not None else Fraction(0)
    high = None if mirrored is None else -mirrored / 2
    return None if high is not None and high < low else (low, high)


def _greatest_slope(starts: list[Point], ends: list[Point]) -> Fraction | None:
    """Return the greatest slope of a line from a point of `starts` to a later one of `ends`, or None without a pair.

    Both are sorted by x. The starts so far are kept as their lower convex hull, where the slope to a point
    on the right rises to the tangent and falls behind it.
    """
    hull: list[Point] = []
    best: Point | None = None  # (rise, run)
    k = 0
    for x, y in ends:
        while k < len(starts) and starts[k][0] < x:
            _push(hull, starts[k])
            k += 1
        if not hull:
            continue
        first, behind = 0, len(hull) - 1
        while first < behind:
            middle = (first + behind) // 2
            (x0, y0), (x1, y1) = hull[middle], hull[middle + 1]
            if (y - y1) * (x - x0) >= (y - y0) * (x - x1):
                first = middle + 1
            else:
                behind = middle
        rise, run = y - hull[first][1], x - hull[first][0]
        if best is None or rise * best[1] > best[0] * run:
            best = rise, run
    return None if best is None else Fraction(*best)


def _push(hull: list[Point], point: Point) -> None:
    """Add `point`, right of all others, to a lower convex hull."""
    x, y = point
    while len(hull) > 1:
        (x0, y0), (x1, y1) = hull[-2:]
        if (y1 - y0) * (x - x0) < (y - y0) * (x1 - x0):
            break
        hull.pop()
    hull.append(point)


def holds_power_of_two(low: Fraction, high: Fraction | None) -> bool:
    """Return whether low..high, with low at least 0, holds 0 or a power of two (2**k, k any integer).

    Parameters
    ----------
    low : Fraction
        Least slope, at least 0, included.
    high : Fraction or None
        Greatest slope, included; None for no bound.

    Returns
    -------
    bool
        True where low is 0 or high is None, too.
    """
    if low == 0 or high is None:
        return True
    exponent = low.numerator.bit_length() - low.denominator.bit_length()
    power = Fraction(2) ** exponent
    while power < low:
        power *= 2
    return power <= high


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the simplest fraction, that of the least denominator, in low..high.

    Parameters
    ----------
    low, high : Fraction
        The interval, both ends included; 0 < low <= high.

    Returns
    -------
    Fraction
        The one of the least denominator, found along the continued fraction.
    """
    whole = low.numerator // low.denominator
    if whole == low:
        return low
    if whole + 1 <= high:
        return Fraction(whole + 1)
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))
