"""What the four forms of softmax share: the table of exp, its terms and their sum.

    m = max x;  d_i = m - x_i;  t_i = exp_table[min(d_i, size - 1)];  S = sum t

over what a row sees (`mfsim/ops/softmax/rows.py`). The table starts with 2**P and never rises, so the
entry with d = 0 makes S at least 2**P: no form divides by 0. A row that a live mask hides altogether has
S = 0; the forms that divide by S raise it to 2**P, which changes no other row. For the maximum an entry
that a live mask hides has the least code of x, the attribute `hidden`, so that its d stays in the word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import FormatError
from mfsim.ir.formats import Format
from mfsim.ops.softmax.rows import Rows, check_clamp, rows_of, seen_rows, table_codes, unsigned


@dataclass(frozen=True)
class Terms:
    """Proved bounds of the terms of a row.

    Attributes
    ----------
    rows : see `Rows`.
    spread : the greatest d.
    entries : those of the table that a d can meet.
    table_bits : P.
    size : of the whole table.
    """

    rows: Rows
    spread: int
    entries: tuple[int, ...]
    table_bits: int
    size: int

    @classmethod
    def of(cls, op: str, x, table, mask) -> Terms:
        """Return the bounds for x under `mask`; errors name `op`.

        Parameters
        ----------
        op : str
            Name of the op, for errors.
        x : Tensor, shape (batch, ..., N)
            An activation with one scale.
        table : Tensor, shape (size,)
            A constant: the table of exp.
        mask : Tensor or None
            See `mfsim.ops.softmax.rows.rows_of`.

        Returns
        -------
        Terms
            Bounds for the range of x.

        Raises
        ------
        ShapeError
            If x, the table or the mask have wrong shapes.
        FormatError
            If x has several scales, the mask other codes than 0 and 1, or the table does not start with a power of
            two of at least 2, rises, or has a negative entry.
        """
        rows, codes = rows_of(op, x, mask), table_codes(op, "exp_table", table)
        if codes[0] < 2 or codes[0].bit_count() != 1:
            raise FormatError(f"`exp_table` of op `{op}` must start with a power of two of at least 2, not {codes[0]}")
        if codes[-1] < 0 or any(a < b for a, b in itertools.pairwise(codes)):
            raise FormatError(f"`exp_table` of op `{op}` must never rise and have no negative entry")
        spread = x.range.high - x.range.low if max(rows.seen) > 1 else 0
        return cls(rows, spread, tuple(codes[: spread + 1]), codes[0].bit_length() - 1, len(codes))

    @property
    def top(self) -> int:
        """2**P, the greatest term and the least sum."""
        return 1 << self.table_bits

    @property
    def greatest_sum(self) -> int:
        """The greatest sum."""
        return max(self.rows.seen) << self.table_bits

    @property
    def clamp(self) -> str:
        """Whether an index has to be compared."""
        return "high" if self.spread >= self.size else "none"

    def least_sum(self, term: int, seen: int) -> int:
        """Return the least sum of a row of `seen` entries, one of which is `term` and one 2**P.

        Parameters
        ----------
        term : int
            One of `entries`.
        seen : int
            Entries that the row sees: at least 1, and at least 2 for a term below 2**P.

        Returns
        -------
        int
            At least 2**P.
        """
        if term == self.top:
            return term + (seen - 1) * self.entries[-1]
        return term + self.top + (seen - 2) * self.entries[-1]

    def bounds(self, value: Callable[[int, int], int]) -> tuple[int, int]:
        """Return the exact bounds of value(t, S), which must not rise with S, over all that rows see.

        Parameters
        ----------
        value : callable
            Maps a term and a row sum to an int.

        Returns
        -------
        (int, int)
            Least and greatest value.
        """
        few, many = self.rows.fewest, max(self.rows.seen)
        reached = set(self.entries) if many > 1 else {self.top}
        least = min(value(t, t + (many - 1) * self.top) for t in reached)
        reached = reached if few > 1 else {self.top}
        return least, max(value(t, self.least_sum(t, few)) for t in reached)

    def words(self) -> dict[str, Format]:
        """Return the words of d, t and S."""
        return {
            "distance": unsigned(self.spread, "the distance to the maximum"),
            "term": unsigned(self.top, "the term of a softmax"),
            "sum": unsigned(self.greatest_sum, "the row sum of a softmax"),
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


TERMS_HELD = {
    "terms_and_sum.distance": "distance",
    "terms_and_sum.term": "term",
    "terms_and_sum.total": "sum",
    "at_least.return": "sum",
}
"""Which word holds which value up to the sum of a row."""


def mask_of(tensors, without: int):
    """Return the mask behind `without` inputs, or None.

    Parameters
    ----------
    tensors : sequence of Tensor
        Inputs of the op; x and the table are the first two.
    without : int
        Inputs in front of the mask.

    Returns
    -------
    Tensor or None
        None where there are no more inputs.
    """
    return tensors[without] if len(tensors) > without else None


def derivation(op: str, without: int):
    """Return the function that derives `clamp` and `hidden` for an op with `without` inputs before the mask.

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

    def derive(tensors, attributes):
        terms = Terms.of(op, tensors[0], tensors[1], mask_of(tensors, without))
        return {"clamp": terms.clamp, "hidden": tensors[0].range.low if terms.rows.live else 0}

    return derive


def terms_of(op: str, tensors, attributes, without: int) -> Terms:
    """Return the bounds, with `clamp` and `hidden` checked.

    Parameters
    ----------
    op : str
        Name of the op, for errors.
    tensors : sequence of Tensor
        Inputs of the op; x and the table are the first two.
    attributes : mapping
        With `clamp` and `hidden`.
    without : int
        Inputs in front of the mask.

    Returns
    -------
    Terms
        Bounds for the range of x.

    Raises
    ------
    ShapeError
        If x, the table or the mask have wrong shapes.
    FormatError
        If x, the table or the mask do not suit the op, or `clamp` or `hidden` are not those needed.
    """
    terms = Terms.of(op, tensors[0], tensors[1], mask_of(tensors, without))
    check_clamp(op, attributes, terms.clamp)
    if terms.rows.live and attributes["hidden"] != tensors[0].range.low:
        raise FormatError(
            f"`hidden` of op `{op}` must be {tensors[0].range.low}, the least code of x, not {attributes['hidden']}"
        )
    return terms


def weighed(x: np.ndarray, table: np.ndarray, masks, divided: Callable[[int, int, int], int]) -> np.ndarray:
    """Return divided(d, t, S) for what each row sees, 0 elsewhere, from the definition above.

    Parameters
    ----------
    x : object array, shape (batch, ..., N)
        Codes, Python ints.
    table : array, shape (size,)
        Entries of the table of exp.
    masks : sequence of at most one array
        0 and 1, broadcast against x.
    divided : callable
        Maps d, t and S to a code.

    Returns
    -------
    object array, shape of x
        Codes.
    """
    y = np.zeros(x.shape, dtype=object)
    for row, places in seen_rows(x, masks):
        codes = [x[row][i] for i in places]
        distances = [max(codes) - code for code in codes]
        weights = [table[min(d, len(table) - 1)] for d in distances]
        for i, d, t in zip(places, distances, weights, strict=True):
            y[(*row, i)] = divided(d, t, sum(weights))
    return y


def term_rows(node, x, table, rows: Rows, raised: bool) -> list[tuple[Any, ...]]:
    """Return the counts of maximum, distances, terms and sums; `raised` if a live mask makes S be compared.

    Parameters
    ----------
    node : Node
        With `clamp` and the words of `Terms.words`.
    x, table : Tensor
        The inputs.
    rows : Rows
        What rows see.
    raised : bool
        Whether the form divides by S.

    Returns
    -------
    list of tuples
        As `mfsim.ops.op.rows` takes them.
    """
    entries, count, bits = rows.entries, rows.count, x.format.bits
    distance, term, total = (node.words[name].bits for name in ("distance", "term", "sum"))
    counts: list[tuple[Any, ...]] = [
        ("cmp", (bits,), entries - count),
        ("select", (bits,), entries - count),
        ("addsub", (bits, bits), entries),
        ("lut", (max(1, (table.shape[0] - 1).bit_length()), table.format.bits), entries),
        ("addsub", (total, term), entries - count),
    ]
    if node.attributes["clamp"] == "high":
        counts += [("cmp", (distance,), entries), ("select", (distance,), entries)]
    if rows.live:
        counts += [("select", (bits,), entries), ("select", (term,), entries)]
        counts += [("cmp", (total,), count * raised), ("select", (total,), count * raised)]
    return counts
