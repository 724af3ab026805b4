"""What the norms share: proved bounds of the sums of a row, and the parts that a device computes.

    layer_norm, layer_norm_recip     root norms of c = N q - sum q,   V = N sum q**2 - (sum q)**2
    rms_norm, rms_norm_recip         root norms of c = N q,           V = N sum q**2
    shift_norm_l1, shift_norm_l2     shift norms of c = N q - sum q

No mean is rounded: N times the row is centred, and V is N**2 times its variance, exactly. The row is
the last axis. N q is shifts and additions, one for each set bit of N (a bit of weight 1 needs no shift),
or in a root norm a multiplication by a constant (`times_n` mul).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import Attribute

TIMES_N = Attribute("times_n", "str", "N q as a product or as shifts and additions", "mul", ("mul", "shift"))


@dataclass(frozen=True)
class Row:
    """Proved bounds of one row of `length` codes in lo..hi, `centred` by its sum or not.

    A bound of a magnitude says nothing of its sign; sums hold every partial sum in any order.
    """

    length: int
    lo: int
    hi: int
    centred: bool

    @classmethod
    def of(cls, op: str, x, centred: bool) -> Row:
        """Return the bounds for the last axis of x; errors name `op`.

        Parameters
        ----------
        op : str
            Name of the op, for errors.
        x : Tensor, shape (batch, ..., N)
            An activation with one scale.
        centred : bool
            Whether the sum of the row is subtracted.

        Returns
        -------
        Row
            With the ends of the range of x.

        Raises
        ------
        ShapeError
            If x has no axis of at least 1 behind the batch.
        FormatError
            If x has several scales.
        """
        if len(x.shape) < 2 or x.shape[-1] < 1:
            raise ShapeError(f"x of op `{op}` must have an axis of at least 1 behind the batch, not {x.shape}")
        if x.scale.axis is not None:
            raise FormatError(f"x of op `{op}` must have one scale; requantize first")
        return cls(int(x.shape[-1]), x.range.low, x.range.high, centred)

    @property
    def largest(self) -> int:
        """The greatest |q|."""
        return max(-self.lo, self.hi, 0)

    @property
    def deviation(self) -> int:
        """The greatest |c|."""
        return (self.length - 1) * (self.hi - self.lo) if self.centred else self.length * self.largest

    @property
    def spread(self) -> int:
        """The greatest V: half of the codes at either end."""
        if not self.centred:
            return (self.length * self.largest) ** 2
        return (self.length // 2) * ((self.length + 1) // 2) * (self.hi - self.lo) ** 2

    @property
    def absolute_sum(self) -> int:
        """The greatest sum |c|, if centred: half of the codes at either end."""
        return 2 * (self.length // 2) * ((self.length + 1) // 2) * (self.hi - self.lo)

    @property
    def ratio(self) -> int:
        """The greatest c**2 / V: N - 1 (Samuelson 1968), or N. It is the least V with a c other than 0 as well."""
        return self.length - 1 if self.centred else self.length

    def words(self) -> dict[str, Format]:
        """Return the words of what all norms compute."""
        ends = (min(self.lo, 0), max(self.hi, 0))
        words = {"scaled": Format.of_range(self.length * ends[0], self.length * ends[1], "N times a code")}
        if self.centred:
            words["sum"] = Format.of_range(self.length * ends[0], self.length * ends[1], "the sum of a row")
            words["centred"] = Format.of_range(-self.deviation, self.deviation, "a centred code")
        return words

    def square_words(self) -> dict[str, Format]:
        """Return the words of the sums of squares, up to V."""
        square = self.largest**2
        words = {
            "square": Format.of_range(0, square, "a square"),
            "squares": Format.of_range(0, self.length * square, "the sum of squares"),
            "scaled_squares": Format.of_range(0, self.length**2 * square, "N times the sum of squares"),
        }
        if self.centred:
            words["squared_sum"] = Format.of_range(0, (self.length * self.largest) ** 2, "the square of the sum")
            words["spread"] = Format.of_range(0, self.spread, "the spread")
        return words


CENTRED_HELD = {"centre.times_length": "scaled", "centre>row_sum.total": "sum", "centre.centred": "centred"}

SPREAD_HELD = {
    "scaled_squares.mul": "square",
    "scaled_squares.squares": "squares",
    "scaled_squares.return": "scaled_squares",
    "spread.mul": "squared_sum",
    "spread.return": "spread",
}
"""Which word holds which value of a norm: of what is centred, and of the sums of squares."""


def check_channels(op: str, name: str, tensor, length: int) -> None:
    """Raise unless `tensor` is a constant of one code for each channel.

    Parameters
    ----------
    op, name : str
        Names of the op and of the input, for errors.
    tensor : Tensor
        The input.
    length : int
        N, entries of a row.

    Raises
    ------
    FormatError
        If `tensor` is not constant.
    ShapeError
        If its shape is not (N,).
    """
    if not tensor.is_constant:
        raise FormatError(f"{name} of op `{op}` must be a constant")
    if tensor.shape != (length,):
        raise ShapeError(f"{name} of op `{op}` must have the shape ({length},), not {tensor.shape}")


def check_offsets(op: str, beta, length: int, fraction: int) -> None:
    """Raise unless beta is a constant on the grid of the result.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    beta : Tensor
        The input.
    length : int
        N, entries of a row.
    fraction : int
        F: the result lies on 2**-F.

    Raises
    ------
    FormatError
        If beta is not constant, or lies on another grid.
    ShapeError
        If its shape is not (N,).
    """
    check_channels(op, "beta", beta, length)
    if beta.scale != Scale.of(-fraction):
        raise FormatError(f"beta of op `{op}` must lie on the grid 2^{-fraction} of the result, not on {beta.scale}")


def rounded_root(square: Fraction) -> int:
    """Return floor(sqrt(square) + 1/2): the greatest code that a magnitude of at most that root rounds to.

    Parameters
    ----------
    square : Fraction
        At least 0.

    Returns
    -------
    int
        At least 0.
    """
    return (math.isqrt(int(4 * square)) + 1) // 2


def channel_range(bounds: Sequence[int], offsets: Sequence[int], axis: int) -> Range:
    """Return the range offset - bound .. offset + bound of each channel along `axis`.

    Parameters
    ----------
    bounds : sequence of int
        Greatest magnitude for each channel, in codes.
    offsets : sequence of int
        One for each channel, in codes.
    axis : int
        Axis of the channels, batch included.

    Returns
    -------
    Range
        One pair for each channel.
    """
    pairs = list(zip(bounds, offsets, strict=True))
    return Range(tuple(o - b for b, o in pairs), tuple(o + b for b, o in pairs), axis)


def half_away(numerator: int, denominator: int) -> int:
    """Return numerator / denominator, denominator > 0, rounded to the nearest integer, halves away from 0.

    Parameters
    ----------
    numerator : int
        Any integer.
    denominator : int
        Positive.

    Returns
    -------
    int
        At most 1/2 away from the quotient.
    """
    nearest = math.floor(Fraction(abs(numerator), denominator) + Fraction(1, 2))
    return nearest if numerator >= 0 else -nearest


def centred_row(row: Sequence[int]) -> list[int]:
    """Return N (q_i - mean) for each of the N codes of a row.

    Parameters
    ----------
    row : sequence of int
        N codes, at least one.

    Returns
    -------
    list of int
        Exact; their sum is 0.
    """
    mean = Fraction(sum(row), len(row))
    return [int(len(row) * (code - mean)) for code in row]


def times_rows(attributes, length: int, bits: int, scaled_bits: int, count: int) -> list[tuple[Any, ...]]:
    """Return the operations of `count` products N v, v of `bits` and N v of `scaled_bits` bits.

    An op without the attribute `times_n` shifts.

    Parameters
    ----------
    attributes : mapping
        Of the node; perhaps with `times_n`.
    length : int
        N.
    bits, scaled_bits : int
        Widths of v and of N v.
    count : int
        Products of one sample.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    if attributes.get("times_n") == "mul":
        return [("mul", (bits, length.bit_length()), count, "fixed")]
    return [
        ("shift", (bits,), count * (length >> 1).bit_count()),
        ("addsub", (scaled_bits, scaled_bits), count * (length.bit_count() - 1)),
    ]


def centring_rows(node, x, length: int, count: int) -> list[tuple[Any, ...]]:
    """Return the operations of c = N q - sum q for `count` rows.

    Parameters
    ----------
    node : Node
        With the words `scaled` and `sum`.
    x : Tensor
        The input.
    length : int
        N.
    count : int
        Rows of one sample.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    words, bits = node.words, x.format.bits
    return [
        ("addsub", (words["sum"].bits, bits), count * (length - 1)),
        *times_rows(node.attributes, length, bits, words["scaled"].bits, count * length),
        ("addsub", (words["scaled"].bits, words["sum"].bits), count * length),
    ]


def spread_rows(node, x, length: int, count: int) -> list[tuple[Any, ...]]:
    """Return the operations of V for `count` rows, the sum of a row given.

    Parameters
    ----------
    node : Node
        With the words of `Row.square_words`.
    x : Tensor
        The input.
    length : int
        N.
    count : int
        Rows of one sample.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    words, bits = node.words, x.format.bits
    squares = [
        ("mul", (bits, bits), count * length, "activation"),
        ("addsub", (words["squares"].bits, words["square"].bits), count * (length - 1)),
        *times_rows(node.attributes, length, words["squares"].bits, words["scaled_squares"].bits, count),
    ]
    if "squared_sum" not in words:
        return squares
    return [
        *squares,
        ("mul", (words["sum"].bits, words["sum"].bits), count, "activation"),
        ("addsub", (words["scaled_squares"].bits, words["squared_sum"].bits), count),
    ]
