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

    Parameters
    ----------
    value : int or None
        Any integer; None is not known.

    Returns
    -------
    str
        A dash for None.

    Examples
    --------
    >>> integer(1234567) == f"1{THIN}234{THIN}567"
    True
    """
    return NONE if value is None else f"{value:,}".replace(",", THIN).replace("-", MINUS)


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: "1 node", "2 nodes".

    Parameters
    ----------
    number : int, at least 0
        How many.
    thing : str
        A noun in the singular whose plural ends in s.

    Returns
    -------
    str
        Number and noun.
    """
    return f"{integer(number)} {thing}{'' if number == 1 else 's'}"


def percent(fraction: float | None) -> str:
    """Return a fraction in percent with two decimals.

    Parameters
    ----------
    fraction : float or None
        0.5 is 50 %; None is not known.

    Returns
    -------
    str
        A dash for None.
    """
    return NONE if fraction is None else f"{100 * fraction:.2f}{THIN}%"


def decibel(value: float | None, exact: bool | None = False) -> str:
    """Return a ratio in dB with one decimal, or "exact" for an exact result.

    Parameters
    ----------
    value : float or None
        A ratio in dB; None is not known.
    exact : bool or None
        Whether the result has no error, so that the ratio does not exist.

    Returns
    -------
    str
        A dash where the ratio is None and the result not exact.
    """
    if exact:
        return "exact"
    return NONE if value is None else f"{value:.1f}{THIN}dB".replace("-", MINUS)


def data_size(size: int | None) -> str:
    """Return a number of bytes in B, KiB or MiB.

    Parameters
    ----------
    size : int, at least 0, or None
        Bytes; None is not known.

    Returns
    -------
    str
        One decimal from 1 KiB on; a dash for None.

    Examples
    --------
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
    """Return a real with three significant digits.

    Parameters
    ----------
    value : float or None
        Any real; None is not known.

    Returns
    -------
    str
        With an exponent where it is shorter; a dash for None.
    """
    return NONE if value is None else f"{value:.3g}".replace("-", MINUS)


def interval(lo: int | None, hi: int | None) -> str:
    """Return a range of integers as "lo … hi".

    Parameters
    ----------
    lo, hi : int or None
        Both ends; None is not known.

    Returns
    -------
    str
        A dash where an end is None.
    """
    return NONE if lo is None or hi is None else f"{integer(lo)}{THIN}…{THIN}{integer(hi)}"


def short(number: float) -> str:
    """Return the label of an axis tick with an SI prefix: 1.5 k, 2 M.

    Parameters
    ----------
    number : float
        Finite value at a tick.

    Returns
    -------
    str
        In units of k, M or G from 1000 on.

    Examples
    --------
    >>> short(1500) == f"1.5{THIN}k", short(0)
    (True, '0')
    """
    for unit, step in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= step:
            return f"{number / step:g}{THIN}{unit}".replace("-", MINUS)
    return f"{number:g}".replace("-", MINUS)


def words(names: Sequence[str]) -> str:
    """Return a list of words with commas, or a dash if there are none.

    Parameters
    ----------
    names : sequence of str
        Words in order.

    Returns
    -------
    str
        The list.
    """
    return ", ".join(names) if names else NONE
