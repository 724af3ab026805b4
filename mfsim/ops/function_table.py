"""`function_table`: a function of one code as a list of correctly rounded codes.

Functions are evaluated at 50 digits: an argument of at most 16 bits times a gain of 53 is exact there, and a
value of 63 bits keeps 30 digits behind its point. Tables made in float32 are wrong in some entries.

>>> from mfsim.ir.formats import Format
>>> function_table("tanh", -4, 9, -1, Format(8), -7)
(-123, -116, -97, -59, 0, 59, 97, 116, 123)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mpmath

from mfsim.errors import FormatError, ShapeError, UnsupportedOpError, did_you_mean
from mfsim.ir.formats import Format

DIGITS = 50
"""Decimal digits of every evaluation."""

MAX_ENTRIES = 2**16
"""The greatest size of a table: an index of 16 bits."""


def _gelu(x: mpmath.mpf) -> mpmath.mpf:
    return x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _gelu_tanh(x: mpmath.mpf) -> mpmath.mpf:
    return x * _sigmoid(2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))


def _sigmoid(x: mpmath.mpf) -> mpmath.mpf:
    return 1 / (1 + mpmath.exp(-x))


def _silu(x: mpmath.mpf) -> mpmath.mpf:
    return x * _sigmoid(x)


FUNCTIONS: dict[str, Callable[[mpmath.mpf], mpmath.mpf]] = {
    "exp": mpmath.exp,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "tanh": mpmath.tanh,
}
"""Every function by name; `gelu` is x Phi(x), `gelu_tanh` its form with tanh."""


def nearest(value: mpmath.mpf, lo: int, hi: int) -> int:
    """Return the integer nearest to `value`, halves away from zero, or the nearer end of lo..hi.

    Parameters
    ----------
    value : mpmath.mpf
        Any number, infinities too.
    lo, hi : int
        Ends, both included.

    Returns
    -------
    int
        lo to hi.
    """
    if value <= lo:
        return lo
    if value >= hi:
        return hi
    magnitude = int(mpmath.floor(abs(value) + mpmath.mpf("0.5")))
    return magnitude if value >= 0 else -magnitude


def checked_gain(gain: float) -> mpmath.mpf:
    """Return `gain`, a positive double, exactly; a `FormatError` for any other number.

    Parameters
    ----------
    gain : float
        Factor of the argument.

    Returns
    -------
    mpmath.mpf
        The same number.

    Raises
    ------
    FormatError
        If it is not positive and finite.
    """
    if not 0 < gain < math.inf:
        raise FormatError(f"`gain` must be a positive number, not {gain!r}")
    return mpmath.mpf(float(gain))


@functools.lru_cache(maxsize=64)
def function_table(
    name: str, first: int, size: int, x_exponent: int, y_format: Format, y_exponent: int, gain: float = 1.0
) -> tuple[int, ...]:
    """Return the codes of f(gain * x) for `size` codes of x in a row.

    Parameters
    ----------
    name : key of `FUNCTIONS`
    first : int
        Code of x that belongs to the first entry.
    size : int
        Number of entries, 1..2**16.
    x_exponent : int
        Code c of x stands for c * 2**x_exponent.
    y_format : Format
        Word of the entries; what passes its ends saturates.
    y_exponent : int
        Entry c stands for c * 2**y_exponent.
    gain : float
        Factor of x, taken as the double that it is.

    Returns
    -------
    tuple of `size` ints
        Each the code nearest to f, halves away from zero: at most 1/2 LSB away where nothing saturates.

    Raises
    ------
    UnsupportedOpError
        If there is no function of that name.
    ShapeError
        If `size` is not in 1..2**16.
    FormatError
        If `gain` is not positive.
    """
    if name not in FUNCTIONS:
        raise UnsupportedOpError(f"`{name}` is not a function with a table{did_you_mean(name, FUNCTIONS)}")
    if not 1 <= size <= MAX_ENTRIES:
        raise ShapeError(f"`size` of a table must be in 1..{MAX_ENTRIES}, not {size}")
    function = FUNCTIONS[name]
    with mpmath.workdps(DIGITS):
        step, unit = checked_gain(gain) * mpmath.mpf(2) ** x_exponent, mpmath.mpf(2) ** -y_exponent
        return tuple(
            nearest(function(code * step) * unit, y_format.lo, y_format.hi) for code in range(first, first + size)
        )
