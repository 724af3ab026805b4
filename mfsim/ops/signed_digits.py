"""Canonical signed digits: an integer as the fewest sums and differences of powers of two."""

from __future__ import annotations


def signed_digits(code: int) -> list[tuple[int, int]]:
    """Return the canonical signed digits of `code` as (place, sign), the lowest place first.

    Parameters
    ----------
    code : int
        Any integer.

    Returns
    -------
    list of tuple of int
        Places at least 0 and signs -1 or +1; no two places are neighbours; empty for 0.

    Examples
    --------
    >>> signed_digits(7), signed_digits(-5), signed_digits(0)
    ([(0, -1), (3, 1)], [(0, -1), (2, -1)], [])
    """
    digits, place = [], 0
    while code:
        if code % 2:
            sign = 2 - code % 4
            digits.append((place, sign))
            code -= sign
        code //= 2
        place += 1
    return digits
