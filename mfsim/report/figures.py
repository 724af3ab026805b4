"""Numbers as a person reads them: thousands apart, units, and a dash for what is not known."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "\N{EN DASH}"
"""Stands for a figure that does not exist."""

THIN = "\N{NARROW NO-BREAK SPACE}"
"""Stands between groups of three digits and before a unit."""

MINUS = "\N{MINUS SIGN}"


def integer(value: int | None) -> str:
    """Return `value` with its digits in groups of three.

    >>> integer(1234567) == f"1{THIN}234{THIN}567"
    True
    """
    return NONE if value is None else f"{value:,}".replace(",", THIN).replace("-", MINUS)


def counted(number: int, thing: str) -> str:
    """Return "1 node", "2 nodes"."""
    return f"{integer(number)} {thing}{'' if number == 1 else 's'}"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent with two decimals."""
    return NONE if fraction is None else f"{100 * fraction:.2f}{THIN}%"


def decibel(value: float | None, exact: bool | None = False) -> str:
    """Return a ratio in dB with one decimal, or "exact" for an exact result."""
    if exact:
        return "exact"
    return NONE if value is None else f"{value:.1f}{THIN}dB".replace("-", MINUS)


def data_size(size: int | None) -> str:
    """Return a number of bytes in B, KiB or MiB.

    >>> data_size(1536) == f"1.5{THIN}KiB"
    True
    """
    if size is None:
        return NONE
    for unit, step in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= step:
            return f"{size / step:.1f}{THIN}{unit}"
    return f"{size}{THIN}B"


def significant(value: float | None) -> str:
    """Return a real with three significant digits."""
    return NONE if value is None else f"{value:.3g}".replace("-", MINUS)


def interval(lo: int | None, hi: int | None) -> str:
    """Return "lo … hi"."""
    return NONE if lo is None or hi is None else f"{integer(lo)}{THIN}…{THIN}{integer(hi)}"


def short(number: float) -> str:
    """Return an axis label: 1.5 k, 2 M.

    >>> short(1500) == f"1.5{THIN}k", short(0)
    (True, '0')
    """
    for unit, step in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= step:
            return f"{number / step:g}{THIN}{unit}".replace("-", MINUS)
    return f"{number:g}".replace("-", MINUS)


def words(names: Sequence[str]) -> str:
    """Return words with commas, or a dash if there are none."""
    return ", ".join(names) if names else NONE
