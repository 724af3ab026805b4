"""What requantize, accumulator and clip share: exact codes are fitted into a word or between bounds.

`clamp` says which ends a device has to compare: an end that the proved range never passes costs
nothing. Bounds are lists of (lo, hi) in Python ints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Overflow, Range
from mfsim.ir.program import Tensor

Bounds = Sequence[tuple[int, int]]

OVERFLOWS = tuple(overflow.value for overflow in Overflow)

CLAMPS = ("none", "high", "low", "both")


def pairs(range_: Range) -> list[tuple[int, int]]:
    """Return the (lo, hi) of each index of a range.

    Parameters
    ----------
    range_ : Range
        A range, along an axis or not.

    Returns
    -------
    list of tuple of int
        At least one.
    """
    return list(zip(range_.lo, range_.hi, strict=True))


def range_of(bounds: Bounds, axis: int | None) -> Range:
    """Return the range with the given (lo, hi) along `axis`.

    Parameters
    ----------
    bounds : sequence of tuple of int
        (lo, hi) of each index of `axis`, or one.
    axis : int or None
        Axis, batch axis counted.

    Returns
    -------
    Range
        A range of that many entries.
    """
    return Range(tuple(a for a, _ in bounds), tuple(b for _, b in bounds), axis)


def word_limits(attributes: Mapping[str, Any]) -> tuple[int, int]:
    """Return the least and greatest code that the result may have (`bits`, `signed` and perhaps `narrow`).

    Parameters
    ----------
    attributes : mapping
        `bits`, `signed` and perhaps `narrow`.

    Returns
    -------
    tuple of int
        (least, greatest); `narrow` raises the least code of a signed word by one.
    """
    word = Format(attributes["bits"], bool(attributes["signed"]))
    return word.lo + int(bool(attributes.get("narrow", 0)) and word.signed), word.hi


def fit(code: int, lo: int, hi: int, bits: int, signed: bool, overflow: str) -> int:
    """Return `code` in the word, from the definition of each rule.

    Parameters
    ----------
    code : int
        Any Python int.
    lo, hi : int
        Ends that "saturate" clamps to.
    bits : int
        Width of the word, at least 1.
    signed : bool
        Whether it is in two's complement.
    overflow : str
        "saturate" or "wrap".

    Returns
    -------
    int
        The fitted code.
    """
    if overflow == "saturate":
        return min(max(code, lo), hi)
    code %= 1 << bits
    return code - (1 << bits) if signed and code >= 1 << (bits - 1) else code


def needed_clamp(bounds: Bounds, lo: int, hi: int) -> str:
    """Return the ends of lo..hi that `bounds` passes.

    Parameters
    ----------
    bounds : sequence of tuple of int
        Exact bounds of the codes.
    lo, hi : int
        Ends, both included.

    Returns
    -------
    str
        "none", "high", "low" or "both".
    """
    low, high = min(bounds)[0] < lo, max(b for _, b in bounds) > hi
    return CLAMPS[2 * low + high]


def compared_bits(x: Tensor, lo: int, hi: int, clamp: str) -> int:
    """Return the width of comparing codes of x with the ends of lo..hi that `clamp` names.

    Parameters
    ----------
    x : Tensor
        What is compared.
    lo, hi : int
        Ends, both included.
    clamp : str
        One of `CLAMPS`.

    Returns
    -------
    int
        Bits of the smallest word that holds the codes and the ends, at least those of x.
    """
    ends = {"none": (), "low": (lo,), "high": (hi,), "both": (lo, hi)}[clamp]
    met = (x.range.low, x.range.high, *ends)
    return max(x.format.bits, Format.of_range(min(met), max(met), "a code and the ends of its word").bits)


def compared_ends(clamp: str) -> int:
    """Return how many ends are compared.

    Parameters
    ----------
    clamp : str
        One of `CLAMPS`.

    Returns
    -------
    int
        0, 1 or 2.
    """
    return {"none": 0, "low": 1, "high": 1, "both": 2}[clamp]


def clamped_bounds(op: str, bounds: Bounds, lo: int, hi: int, clamp: str) -> list[tuple[int, int]]:
    """Return the exact bounds after clamping to lo..hi; a `FormatError` if `clamp` leaves out an end that is needed.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    bounds : sequence of tuple of int
        Exact bounds of the codes.
    lo, hi : int
        Ends, both included.
    clamp : str
        One of `CLAMPS`.

    Returns
    -------
    list of tuple of int
        One for each of `bounds`.

    Raises
    ------
    FormatError
        If an end is passed that `clamp` does not compare.
    """
    needed = needed_clamp(bounds, lo, hi)
    if clamp not in ("both", needed) and needed != "none":
        raise FormatError(f"`clamp` of op `{op}` must not be {clamp}: the input range passes {lo}..{hi}")
    los, his = ([lo if v < lo else hi if v > hi else v for v in ends] for ends in zip(*bounds, strict=True))
    return list(zip(los, his, strict=True))


def wrapped_bounds(bounds: Bounds, word: Format) -> list[tuple[int, int]]:
    """Return the exact bounds of consecutive codes after wrapping into `word`.

    Parameters
    ----------
    bounds : sequence of tuple of int
        Exact bounds of the codes.
    word : Format
        The word.

    Returns
    -------
    list of tuple of int
        The ends of the word where a range wraps in between.
    """
    wrapped = []
    for a, b in bounds:
        low, high = (fit(v, word.lo, word.hi, word.bits, word.signed, "wrap") for v in (a, b))
        wrapped.append((low, high) if high - low == b - a else (word.lo, word.hi))
    return wrapped


def fitted_bounds(op: str, bounds: Bounds, attributes: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the bounds after `overflow` and `clamp` of `attributes` fitted the codes into their word.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    bounds : sequence of tuple of int
        Exact bounds of the codes.
    attributes : mapping
        `bits`, `signed`, `overflow`, `clamp` and perhaps `narrow`.

    Returns
    -------
    list of tuple of int
        One for each of `bounds`.

    Raises
    ------
    FormatError
        If `clamp` does not suit `overflow` or the bounds.
    """
    if attributes["overflow"] == "saturate":
        return clamped_bounds(op, bounds, *word_limits(attributes), attributes["clamp"])
    if attributes["clamp"] != "none":
        raise FormatError(f"`clamp` of op `{op}` must be none with `overflow` wrap")
    return wrapped_bounds(bounds, Format(attributes["bits"], bool(attributes["signed"])))


def fitted_clamp(bounds: Bounds, attributes: Mapping[str, Any]) -> str:
    """Return the value of `clamp` that `bounds` makes necessary.

    Parameters
    ----------
    bounds : sequence of tuple of int
        Exact bounds of the codes.
    attributes : mapping
        `bits`, `signed`, `overflow` and perhaps `narrow`.

    Returns
    -------
    str
        One of `CLAMPS`.
    """
    return "none" if attributes["overflow"] == "wrap" else needed_clamp(bounds, *word_limits(attributes))
