"""What softmax and tanh-l1 share: rows, and what each row may see of itself.

A row is the last axis. An optional mask of 0 and 1 says which entries a row sees: a constant of one axis
or two, broadcast against the last two axes of x (causal attention), each row with at least one 1; or an
activation of one unsigned bit that broadcasts against x (the filled part of a cache), whose rows may be
all 0. What a row does not see is 0 in the result and is left out of maxima and sums. Where a constant
says so nothing is computed; where an activation does, a device computes and selects.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Attribute, size

FRACTION = Attribute("fraction", "int", "F: the result lies on the grid 2^-F")

CLAMP = Attribute(
    "clamp", "str", "whether an index past the table has to be compared", None, ("none", "high"), derived=True
)

HIDDEN = Attribute("hidden", "int", "code that an entry hidden by a live mask has for the maximum", derived=True)


@dataclass(frozen=True)
class Rows:
    """The rows of one sample of x.

    Attributes
    ----------
    length : entries of a row.
    seen : how many of them each row sees, for each row of a constant mask (one if it has none).
    count : rows of a sample, a multiple of the length of `seen`.
    live : whether an activation is the mask.
    whole : whether a live mask may be anything, so that bounds are attained.
    """

    length: int
    seen: tuple[int, ...]
    count: int
    live: bool
    whole: bool

    @property
    def entries(self) -> int:
        """Entries of a sample that are computed."""
        return sum(self.seen) * self.count // len(self.seen)

    @property
    def hidden(self) -> bool:
        """Whether some entry of the result is 0 because its row does not see it."""
        return self.live or min(self.seen) < self.length

    @property
    def fewest(self) -> int:
        """The least number of entries that a row with any sees."""
        return 1 if self.live else min(self.seen)


def rows_of(op: str, x, mask) -> Rows:
    """Return the rows of x under `mask` (a tensor or None); errors name `op`.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    x : Tensor, shape (batch, ..., N)
        An activation with one scale.
    mask : Tensor or None
        A constant of shape (N,), (1, N) or (M, N), M being the last axis but one of x; or an activation that
        broadcasts against x.

    Returns
    -------
    Rows
        What each row sees.

    Raises
    ------
    ShapeError
        If x has no axis of at least 1 behind the batch, or the mask does not suit x.
    FormatError
        If x has several scales, the mask other codes than 0 and 1, or a constant mask a row without a 1.
    """
    if len(x.shape) < 2 or x.shape[-1] < 1:
        raise ShapeError(f"x of op `{op}` must have an axis of at least 1 behind the batch, not {x.shape}")
    if x.scale.axis is not None:
        raise FormatError(f"x of op `{op}` must have one scale; requantize first")
    length, count = int(x.shape[-1]), size(x.shape[:-1])
    if mask is None:
        return Rows(length, (length,), count, False, True)
    if mask.range.low < 0 or mask.range.high > 1:
        raise FormatError(f"the mask of op `{op}` must hold 0 and 1, not {mask.range.low}..{mask.range.high}")
    if not mask.is_constant:
        if len(mask.shape) != len(x.shape) or any(m not in (1, n) for m, n in zip(mask.shape, x.shape, strict=True)):
            raise ShapeError(f"the mask {mask.shape} of op `{op}` must broadcast against x {x.shape}")
        if mask.shape[-1] != length:
            raise ShapeError(f"the mask {mask.shape} of op `{op}` must have an entry for each of the {length} of a row")
        return Rows(length, (length,), count, True, mask.range == Range.of(0, 1) and mask.format.signed is False)
    shapes = [(length,), *([(1, length), (x.shape[-2], length)] if len(x.shape) > 2 else [])]
    if mask.shape not in shapes:
        raise ShapeError(
            f"the constant mask of op `{op}` must have the shape {' or '.join(map(str, dict.fromkeys(shapes)))}, not {mask.shape}"
        )
    seen = tuple(int(n) for n in np.asarray(mask.codes).reshape(-1, length).sum(axis=1))
    if min(seen) < 1:
        raise FormatError(f"row {seen.index(min(seen))} of the mask of op `{op}` must allow at least one entry")
    return Rows(length, seen, count, False, True)


def check_fraction(op: str, attributes) -> int:
    """Return F; a `FormatError` unless it is in 1..31.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    attributes : mapping
        With `fraction`.

    Returns
    -------
    int
        In 1..31.

    Raises
    ------
    FormatError
        If F is out of range.
    """
    fraction = attributes["fraction"]
    if not 1 <= fraction <= 31:
        raise FormatError(f"`fraction` of op `{op}` must be in 1..31, not {fraction}")
    return int(fraction)


def table_codes(op: str, name: str, tensor) -> list[int]:
    """Return the entries of a constant table of one axis.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    name : str
        Name of the input, for the error.
    tensor : Tensor
        The input.

    Returns
    -------
    list of int
        In order, at least one.

    Raises
    ------
    ShapeError
        If it is not constant, has not one axis, or is empty.
    """
    if not tensor.is_constant or len(tensor.shape) != 1 or not tensor.shape[0]:
        raise ShapeError(f"`{name}` of op `{op}` must be a constant with one axis of at least 1, not {tensor.shape}")
    return [int(code) for code in tensor.codes]


def check_thresholds(op: str, tensor) -> list[int]:
    """Return the thresholds, which must ascend.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    tensor : Tensor
        The input.

    Returns
    -------
    list of int
        Strictly ascending, at least one.

    Raises
    ------
    ShapeError
        If it is not constant, has not one axis, or is empty.
    FormatError
        If the thresholds do not ascend.
    """
    codes = table_codes(op, "thresholds", tensor)
    if any(a >= b for a, b in itertools.pairwise(codes)):
        raise FormatError(f"`thresholds` of op `{op}` must ascend")
    return codes


def check_clamp(op: str, attributes, needed: str) -> None:
    """Raise `FormatError` if `clamp` leaves out a comparison that is needed.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    attributes : mapping
        With `clamp`, none or high.
    needed : {"none", "high"}
        What the proved range asks for.

    Raises
    ------
    FormatError
        If `clamp` is none and a comparison is needed.
    """
    if attributes["clamp"] == "none" and needed != "none":
        raise FormatError(f"`clamp` of op `{op}` must not be none: an index may pass the end of the table")


def search_steps(thresholds: int) -> int:
    """Return the steps of a binary search among that many thresholds: ceil(log2(thresholds + 1)).

    Parameters
    ----------
    thresholds : int
        At least 0.

    Returns
    -------
    int
        At least 0.
    """
    return thresholds.bit_length()


def search_rows(value: int, threshold: int, thresholds: int, count: int) -> list[tuple[Any, ...]]:
    """Return the counts of `count` searches of words of `value` bits among thresholds of `threshold` bits.

    Parameters
    ----------
    value, threshold : int
        Bits of a searched word and of a threshold.
    thresholds : int
        Their number.
    count : int
        Searches of one sample.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    steps = search_steps(thresholds)
    return [
        ("lut", (steps, threshold), count * steps),
        ("cmp", (value, threshold), count * steps),
        ("select", (steps,), count * steps),
    ]


def result_range(rows: Rows, lo: int, hi: int) -> Range:
    """Return the range of the result with bounds lo..hi of what rows see.

    Parameters
    ----------
    rows : Rows
        What rows see.
    lo, hi : int
        Least and greatest code at a seen entry.

    Returns
    -------
    Range
        With 0 where some entry is hidden.
    """
    return Range.of(min(lo, 0), max(hi, 0)) if rows.hidden else Range.of(lo, hi)


def seen_rows(x: np.ndarray, masks: Sequence[np.ndarray]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Yield the index of each row of x [batch, ..., N] and the places that it sees, for rows that see any.

    Parameters
    ----------
    x : array, shape (batch, ..., N)
        Codes.
    masks : sequence of at most one array
        0 and 1, broadcast against x; empty if rows see everything.

    Yields
    ------
    index : tuple of int
        Of the axes in front of the row.
    places : list of int
        In 0..N - 1, ascending, at least one.
    """
    seen = np.broadcast_to(masks[0], x.shape) if masks else np.ones(x.shape, dtype=bool)
    for row in np.ndindex(*x.shape[:-1]):
        places = [i for i, allowed in enumerate(seen[row]) if allowed]
        if places:
            yield row, places


def grid(fraction: int) -> Scale:
    """Return the scale 2^-F.

    Parameters
    ----------
    fraction : int
        F.

    Returns
    -------
    Scale
        Per tensor.
    """
    return Scale.of(-fraction)


def unsigned(hi: int, what: str) -> Format:
    """Return the word of 0..hi.

    Parameters
    ----------
    hi : int
        Greatest code, at least 0.
    what : str
        What the word holds, for errors.

    Returns
    -------
    Format
        The smallest unsigned word.
    """
    return Format.of_range(0, hi, what)
