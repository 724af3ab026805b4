"""What the two forms of tanh-l1 share: magnitudes, the table of tanh, the divisor.

    t_i = tanh_table[min(|x_i|, size - 1)];  L = eps + sum t

over what a row sees (`mfsim/ops/softmax/rows.py`). The table starts with 0 and never falls; eps is at least 1,
so no form divides by 0, not even in a row that a live mask hides altogether.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.op import Attribute
from mfsim.ops.softmax.rows import Rows, check_clamp, rows_of, seen_rows, table_codes, unsigned

EPS = Attribute("eps", "int", "added to the sum of the terms of a row, in their units")


@dataclass(frozen=True)
class Magnitudes:
    """Proved bounds of the terms of a row.

    Attributes
    ----------
    rows : see `Rows`.
    positive, negative : the terms that positive and negative codes of x can have.
    zero : whether a code can be 0.
    largest : the greatest |x|.
    size : of the table.
    eps : see `EPS`.
    """

    rows: Rows
    positive: frozenset[int]
    negative: frozenset[int]
    zero: bool
    largest: int
    size: int
    eps: int

    @classmethod
    def of(cls, op: str, x, table, mask, eps: int) -> Magnitudes:
        """Return the bounds for x under `mask`; errors name `op`.

        Parameters
        ----------
        op : str
            Name of the op, for errors.
        x : Tensor, shape (batch, ..., N)
            An activation with one scale.
        table : Tensor, shape (size,)
            A constant: the table of tanh.
        mask : Tensor or None
            See `mfsim.ops.softmax.rows.rows_of`.
        eps : int
            At least 1, in units of a term.

        Returns
        -------
        Magnitudes
            Bounds for the range of x.

        Raises
        ------
        ShapeError
            If x, the table or the mask have wrong shapes.
        FormatError
            If x has several scales, the mask other codes than 0 and 1, `eps` is below 1, or the table does not
            start with 0 or falls.
        """
        rows, codes = rows_of(op, x, mask), table_codes(op, "tanh_table", table)
        if codes[0] != 0 or any(a > b for a, b in itertools.pairwise(codes)):
            raise FormatError(f"`tanh_table` of op `{op}` must start with 0 and never fall")
        if eps < 1:
            raise FormatError(f"`eps` of op `{op}` must be at least 1, not {eps}")
        lo, hi = x.range.low, x.range.high
        met = [
            frozenset(codes[min(first, len(codes) - 1) : last + 1] if first <= last else ())
            for first, last in ((max(1, lo), hi), (max(1, -hi), -lo))
        ]
        return cls(rows, met[0], met[1], lo <= 0 <= hi, max(-lo, hi), len(codes), eps)

    @property
    def terms(self) -> frozenset[int]:
        """Every term that a code can have."""
        return self.positive | self.negative | ({0} if self.zero else frozenset())

    @property
    def greatest_sum(self) -> int:
        """The greatest divisor."""
        return self.eps + max(self.rows.seen) * max(self.terms)

    @property
    def clamp(self) -> str:
        """Whether an index has to be compared."""
        return "high" if self.largest >= self.size else "none"

    def bounds(self, value: Callable[[int, int], int]) -> tuple[int, int]:
        """Return the exact bounds of sign(x) value(t, L), where value must not rise with L.

        Parameters
        ----------
        value : callable
            Maps a term and a divisor to an int of at least 0.

        Returns
        -------
        (int, int)
            Least and greatest signed value.
        """
        few, many = self.rows.fewest, max(self.rows.seen)
        least, greatest = min(self.terms), max(self.terms)

        def most(terms: Iterable[int]) -> list[int]:
            return [value(t, self.eps + t + (few - 1) * least) for t in terms]

        def fewest(terms: Iterable[int]) -> list[int]:
            return [value(t, self.eps + t + (many - 1) * greatest) for t in terms]

        zero = [0] if self.zero else []
        highs = zero + most(self.positive) + [-v for v in fewest(self.negative)]
        lows = zero + fewest(self.positive) + [-v for v in most(self.negative)]
        return min(lows), max(highs)

    def words(self) -> dict[str, Format]:
        """Return the words of |x|, t and L."""
        return {
            "magnitude": unsigned(self.largest, "a magnitude"),
            "term": unsigned(max(self.terms), "the term of a tanh-l1"),
            "sum": unsigned(self.greatest_sum, "the divisor of a tanh-l1"),
        }

    def is_tight(self, x) -> bool:
        """Whether exact bounds are attained: every entry of x takes every code of its range.

        Parameters
        ----------
        x : Tensor
            The input.

        Returns
        -------
        bool
            Whether the ranges of x and of the mask are those for which the bounds are exact.
        """
        return x.range.axis is None and self.rows.whole


DIVISOR_HELD = {
    "terms_and_divisor.magnitude": "magnitude",
    "terms_and_divisor.term": "term",
    "terms_and_divisor.total": "sum",
}
"""Which word holds which value up to the divisor of a row."""


def magnitudes(op: str, tensors, attributes, without: int) -> Magnitudes:
    """Return the bounds for an op with `without` inputs before the mask.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    tensors : sequence of Tensor
        Inputs of the op; x and the table are the first two.
    attributes : mapping
        With `eps`.
    without : int
        Inputs in front of the mask.

    Returns
    -------
    Magnitudes
        Bounds for the range of x.

    Raises
    ------
    ShapeError
        If x, the table or the mask have wrong shapes.
    FormatError
        If x, the table, the mask or `eps` do not suit the op.
    """
    mask = tensors[without] if len(tensors) > without else None
    return Magnitudes.of(op, tensors[0], tensors[1], mask, attributes["eps"])


def derivation(op: str, without: int):
    """Return the function that derives `clamp`.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    without : int
        Inputs in front of the mask.

    Returns
    -------
    callable
        The `derive` of the op: it maps tensors and attributes to a dict.
    """
    return lambda tensors, attributes: {"clamp": magnitudes(op, tensors, attributes, without).clamp}


def checked(op: str, tensors, attributes, without: int) -> Magnitudes:
    """Return the bounds, with `clamp` checked.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    tensors : sequence of Tensor
        Inputs of the op; x and the table are the first two.
    attributes : mapping
        With `eps` and `clamp`.
    without : int
        Inputs in front of the mask.

    Returns
    -------
    Magnitudes
        Bounds for the range of x.

    Raises
    ------
    ShapeError
        If x, the table or the mask have wrong shapes.
    FormatError
        If x, the table, the mask or `eps` do not suit the op, or `clamp` leaves out a needed comparison.
    """
    found = magnitudes(op, tensors, attributes, without)
    check_clamp(op, attributes, found.clamp)
    return found


def weighed(x: np.ndarray, table: np.ndarray, masks, eps: int, divided: Callable[[int, int], int]) -> np.ndarray:
    """Return sign(x) divided(t, L) for what each row sees, 0 elsewhere, from the definition above.

    Parameters
    ----------
    x : object array, shape (batch, ..., N)
        Codes, Python ints.
    table : array, shape (size,)
        Entries of the table of tanh.
    masks : sequence of at most one array
        0 and 1, broadcast against x.
    eps : int
        At least 1.
    divided : callable
        Maps t and L to a code of at least 0.

    Returns
    -------
    object array, shape of x
        Codes.
    """
    y = np.zeros(x.shape, dtype=object)
    for row, places in seen_rows(x, masks):
        weights = {i: table[min(abs(x[row][i]), len(table) - 1)] for i in places}
        for i, t in weights.items():
            sign = (x[row][i] > 0) - (x[row][i] < 0)
            y[(*row, i)] = sign * divided(t, eps + sum(weights.values()))
    return y


def magnitude_rows(node, x, table, rows: Rows) -> list[tuple[Any, ...]]:
    """Return the counts of magnitudes, terms, divisors and signs.

    Parameters
    ----------
    node : Node
        With `clamp` and the words `magnitude`, `term`, `sum` and `quotient`.
    x, table : Tensor
        The inputs.
    rows : Rows
        What rows see.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    entries, bits = rows.entries, x.format.bits
    magnitude, term, total = (node.words[name].bits for name in ("magnitude", "term", "sum"))
    clamped = entries * (node.attributes["clamp"] == "high")
    return [
        ("abs", (bits,), entries),
        ("cmp", (magnitude,), clamped),
        ("select", (magnitude,), clamped),
        ("lut", (max(1, (table.shape[0] - 1).bit_length()), table.format.bits), entries),
        ("select", (term,), entries * rows.live),
        ("addsub", (total, term), entries),
        ("neg", (node.words["quotient"].bits,), entries),
    ]
