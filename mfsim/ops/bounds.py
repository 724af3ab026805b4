"""Proved bounds of sums of terms, each term of one operand x and one operand w.

The bounds are separable: every term is bounded alone, then the bounds are added. This is exact where
the operands of one output vary independently, so for known weights it gives the smallest word that
is safe. The arithmetic is exact: int64 arrays where a bound in Python ints shows that nothing can
pass 2**62, arrays of Python ints otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mfsim.ir.formats import Range

BLOCK = 1 << 13
"""Terms whose bounds are found at a time."""


@dataclass(frozen=True)
class Operands:
    """Bounds of the operands of a product: int64 arrays that broadcast to [terms, outputs].

    Known weights have `w_lo` and `w_hi` equal. Where `taps` is not 0, the terms are those of the taps of
    a window, of one channel after the other, and each tap has its own bounds.
    """

    x_lo: np.ndarray
    x_hi: np.ndarray
    w_lo: np.ndarray
    w_hi: np.ndarray
    taps: int = field(default=0, kw_only=True)

    @property
    def length(self) -> int:
        """Number of terms of one sum."""
        return max(len(self.x_lo), len(self.w_lo))

    def exact(self, shift_x: int, shift_w: int, product: bool) -> tuple[type, Operands]:
        """Return the type in which all sums of terms are exact, and the operands in it.

        A term is at most |x| * 2**shift_x + |w| * 2**shift_w, or |x| * |w| if `product`.

        Parameters
        ----------
        shift_x, shift_w : int; greatest left shifts of the parts, in bits, at least 0
        product : bool; whether terms are products

        Returns
        -------
        tuple of type and Operands; numpy.int64 where all sums stay below 2**62, else object
        """
        x, w = (max(abs(int(lo.min())), abs(int(hi.max())), 1) for lo, hi in self._pairs())
        largest = self.length * (x * w if product else (x << shift_x) + (w << shift_w))
        kind = np.int64 if largest < 2**62 else object
        lows, highs = ([a.astype(kind, copy=False) for a in ends] for ends in zip(*self._pairs(), strict=True))
        return kind, Operands(lows[0], highs[0], lows[1], highs[1], taps=self.taps)

    def padding(self) -> Operands:
        """Return the operands of the same terms where every x is padding: code 0."""
        zero = np.zeros((1, 1), dtype=np.int64)
        return replace(self, x_lo=zero, x_hi=zero)

    def blocks(self) -> Iterator[Operands]:
        """Yield the operands of some terms after the other, so that what is computed of them stays in the cache."""
        outputs = max(self.x_lo.shape[1], self.w_lo.shape[1])
        taps = max(self.taps, 1)
        step = max(BLOCK // max(outputs, 1) // taps, 1) * taps
        for first in range(0, self.length, step):
            lows, highs = ([_some(a, first, step) for a in ends] for ends in zip(*self._pairs(), strict=True))
            known = self.w_lo is self.w_hi
            yield Operands(lows[0], highs[0], lows[1], lows[1] if known else highs[1], taps=self.taps)

    def _pairs(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        return (self.x_lo, self.x_hi), (self.w_lo, self.w_hi)


@dataclass(frozen=True)
class Bounds:
    """Bounds of sums of terms, one for each output or one for all: in Python ints, where sums of them may grow.

    `lo`, `hi` bound the whole sum, `least`, `greatest` every partial sum in any order; `term` bounds
    every single term of every output. Where there are taps, all have them as their first axis.
    """

    lo: np.ndarray
    hi: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    term: tuple[Any, Any]

    @classmethod
    def of_terms(cls, low: np.ndarray, high: np.ndarray, taps: int = 0) -> Bounds:
        """Return the bounds for terms between `low` and `high` [terms, outputs].

        Parameters
        ----------
        low, high : array, shape (terms, outputs); bounds of single terms, int64 or Python ints
        taps : int; taps of a window, or 0

        Returns
        -------
        Bounds; arrays of shape (outputs,), or (taps, outputs)
        """
        sums = [_summed(part, taps) for part in (low, high, np.minimum(low, 0), np.maximum(high, 0))]
        low, high = (_by_tap(part, taps) for part in (low, high))
        term = low.min(axis=-1), high.max(axis=-1)
        return cls(sums[0], sums[1], sums[2], sums[3], term)

    def with_terms(self, more: Bounds) -> Bounds:
        """Return the bounds of sums of these terms and `more`.

        Parameters
        ----------
        more : Bounds; bounds of other terms of the same outputs

        Returns
        -------
        Bounds; of the joined sums
        """
        term = np.minimum(self.term[0], more.term[0]), np.maximum(self.term[1], more.term[1])
        sums = [a + b for a, b in zip(self._sums(), more._sums(), strict=True)]
        return Bounds(sums[0], sums[1], sums[2], sums[3], term)

    def in_ints(self) -> Bounds:
        """Return the bounds in Python ints."""
        sums = [part.astype(object) for part in self._sums()]
        low, high = (end.astype(object) if np.ndim(end) else int(end) for end in self.term)
        return Bounds(sums[0], sums[1], sums[2], sums[3], (low, high))

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.lo, self.hi, self.least, self.greatest

    def started_with(self, bias: np.ndarray | None) -> Bounds:
        """Return the bounds of sums that `bias` (Python ints, one for each output, or None) starts.

        Parameters
        ----------
        bias : object array, shape (outputs,), or None; codes on the grid of the sums

        Returns
        -------
        Bounds; of the sums with it
        """
        if bias is None:
            return self
        least, greatest = np.minimum(bias, 0) + self.least, np.maximum(bias, 0) + self.greatest
        return Bounds(self.lo + bias, self.hi + bias, least, greatest, self.term)

    @property
    def partial(self) -> tuple[int, int]:
        """The bounds of all partial sums over all outputs."""
        return int(min(self.least)), int(max(self.greatest))

    def range(self, axis: int) -> Range:
        """Return the range of the whole sums, along `axis` where outputs differ.

        Parameters
        ----------
        axis : int; axis of the outputs, batch axis counted

        Returns
        -------
        Range; with one entry, or one for each output
        """
        return Range(tuple(self.lo), tuple(self.hi), axis if len(self.lo) > 1 else None)


Spans = tuple[tuple[int, int], ...]
"""Along one axis, the distinct (first tap inside x, the one behind the last) of the windows; (0, 0) for none."""


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution: which taps of `kernel` (rows, columns) lie inside x, in every pair of spans."""

    kernel: tuple[int, int]
    rows: Spans
    columns: Spans

    @property
    def padded(self) -> bool:
        """Whether some window meets padding."""
        return (self.rows, self.columns) != (((0, self.kernel[0]),), ((0, self.kernel[1]),))

    def union(self, inside: Bounds, outside: Bounds) -> Bounds:
        """Return the bounds over all windows, for those of each tap on x and on padding.

        Parameters
        ----------
        inside, outside : Bounds; bounds of each tap, arrays [taps, outputs], on codes of x and on padding

        Returns
        -------
        Bounds; arrays of shape (outputs,)
        """
        lo, hi, least, greatest = (self._sums(a, b) for a, b in zip(inside._sums(), outside._sums(), strict=True))
        (row_in, row_out), (column_in, column_out) = (
            _met(spans, taps) for spans, taps in zip((self.rows, self.columns), self.kernel, strict=True)
        )
        on_x = (row_in[:, None] & column_in).reshape(-1)
        on_padding = (row_out[:, None] | column_out).reshape(-1)
        terms = [np.concatenate([a[on_x], b[on_padding]]) for a, b in zip(inside.term, outside.term, strict=True)]
        ends = [low.min(axis=0) for low in (lo, least)], [high.max(axis=0) for high in (hi, greatest)]
        return Bounds(ends[0][0], ends[1][0], ends[0][1], ends[1][1], (terms[0].min(), terms[1].max()))

    def _sums(self, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
        """Return the sum over the taps of each window [windows, outputs], from areas of cumulated sums."""
        outputs = inside.shape[1]
        area = np.zeros((self.kernel[0] + 1, self.kernel[1] + 1, outputs), dtype=object)
        area[1:, 1:] = (inside - outside).reshape(*self.kernel, outputs).cumsum(axis=0).cumsum(axis=1)
        (top, bottom), (left, right) = (np.array(spans).T for spans in (self.rows, self.columns))
        part = area[bottom][:, right] - area[top][:, right] - area[bottom][:, left] + area[top][:, left]
        sums: np.ndarray = part.reshape(-1, outputs) + outside.sum(axis=0)
        return sums


def _met(spans: Spans, taps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which taps lie inside x in some span, and which lie outside in some."""
    inside = [[first <= k < end for first, end in spans] for k in range(taps)]
    return np.array(list(map(any, inside))), ~np.array(list(map(all, inside)))


def over_windows(
    found: Callable[[Operands], tuple[Bounds, ...]], operands: Operands, windows: Windows | None
) -> tuple[Bounds, ...]:
    """Return what `found` bounds, over all windows; padded taps contribute what code 0 does.

    Parameters
    ----------
    found : callable; operands to a tuple of `Bounds`
    operands : Operands; bounds of the operands of all taps inside x
    windows : Windows or None; windows of a convolution; None for a matrix product

    Returns
    -------
    tuple of Bounds; as many as `found` returns
    """
    if windows is None or not windows.padded:
        return found(operands)
    operands = replace(operands, taps=windows.kernel[0] * windows.kernel[1])
    return tuple(map(windows.union, found(operands), found(operands.padding())))


def spread(values: Sequence[int], count: int) -> list[int]:
    """Return `count` values: the given ones, or the single one repeated.

    Parameters
    ----------
    values : sequence of int; one, or `count`
    count : int; length of the result

    Returns
    -------
    list of int; of length `count`
    """
    return list(values) * count if len(values) == 1 else list(values)


def signs(codes: np.ndarray, zero: int) -> np.ndarray:
    """Return the signs of `codes` in their own type, `zero` for the code 0.

    Parameters
    ----------
    codes : array; codes, integers of any type
    zero : int; 0 or 1

    Returns
    -------
    array; -1, 0 or 1, of the shape and type of `codes`
    """
    return np.where(codes > 0, 1, np.where(codes < 0, -1, zero)).astype(codes.dtype)


def mf_parts(x: np.ndarray, w: np.ndarray, form: str, zero: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the x-parts and w-parts of MF terms, from the definition (`mfsim/ops/products.py`).

    Parameters
    ----------
    x, w : array; codes that broadcast to each other
    form : str; "ef" or "abs"
    zero : int; sign of the code 0, 0 or 1

    Returns
    -------
    tuple of array; (x-parts, w-parts), each on the grid of its operand
    """
    if form == "ef":
        return signs(w, zero) * x, signs(x, zero) * w
    return signs(w, zero) * abs(x), signs(x, zero) * abs(w)


def mf_bounds(operands: Operands, attributes: Mapping[str, Any]) -> tuple[Bounds, ...]:
    """Return bounds of the sums of the x-parts, of the w-parts (both unshifted) and of whole terms.

    One accumulator takes the two parts of a term one after the other, so the partial sums of whole
    terms are those of all parts, which may have opposite signs (form `abs`).

    Every part, and its negative and positive half, is linear on each side of 0 in x and in w, so the
    extremes lie among the ends and -1, 0, 1.

    Parameters
    ----------
    operands : Operands; bounds of x and w
    attributes : mapping; `form`, `sign_zero`, `shift_x` and `shift_w`

    Returns
    -------
    tuple of Bounds; (x-parts, w-parts, whole terms), in Python ints
    """
    shifts_x, shifts_w = attributes["shift_x"], attributes["shift_w"]
    kind, exact = operands.exact(max(shifts_x), max(shifts_w), product=False)
    gains = _powers(shifts_x, kind), _powers(shifts_w, kind)
    blocks = zip(*(_mf_bounds(block, attributes, *gains) for block in exact.blocks()), strict=True)
    return tuple(functools.reduce(Bounds.with_terms, parts).in_ints() for parts in blocks)


def _mf_bounds(
    exact: Operands, attributes: Mapping[str, Any], gain_x: np.ndarray, gain_w: np.ndarray
) -> tuple[Bounds, Bounds, Bounds]:
    terms: list[list[np.ndarray]] = [[] for _ in range(5)]
    for x in _candidates(exact.x_lo, exact.x_hi):
        for w in _candidates(exact.w_lo, exact.w_hi):
            a, b = mf_parts(x, w, attributes["form"], attributes["sign_zero"])
            left, right = a * gain_x, b * gain_w
            below = np.minimum(left, 0) + np.minimum(right, 0)
            above = np.maximum(left, 0) + np.maximum(right, 0)
            for k, part in enumerate((a, b, left + right, below, above)):
                terms[k] = [np.minimum(terms[k][0], part), np.maximum(terms[k][1], part)] if terms[k] else [part, part]
    x_part, w_part, joined = (Bounds.of_terms(low, high, exact.taps) for low, high in terms[:3])
    least, greatest = _summed(terms[3][0], exact.taps), _summed(terms[4][1], exact.taps)
    return x_part, w_part, replace(joined, least=least, greatest=greatest)


def dense_bounds(operands: Operands) -> Bounds:
    """Return the bounds of sums of products.

    Parameters
    ----------
    operands : Operands; bounds of x and w

    Returns
    -------
    Bounds; in Python ints, in LSBs of x times LSBs of w
    """
    _, exact = operands.exact(0, 0, product=True)
    return functools.reduce(Bounds.with_terms, map(_dense_bounds, exact.blocks())).in_ints()


def _dense_bounds(exact: Operands) -> Bounds:
    weights = (exact.w_lo,) if exact.w_lo is exact.w_hi else (exact.w_lo, exact.w_hi)
    corners = [x * w for x in (exact.x_lo, exact.x_hi) for w in weights]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = np.minimum(low, corner), np.maximum(high, corner)
    return Bounds.of_terms(low, high, exact.taps)


def _by_tap(terms: np.ndarray, taps: int) -> np.ndarray:
    """Return `terms` [terms, outputs] as [taps, channels * outputs], or all in one row without taps."""
    shape = (-1, taps, terms.shape[1])
    return terms.reshape(shape).swapaxes(0, 1).reshape(taps, -1) if taps else terms.reshape(-1)


def _summed(terms: np.ndarray, taps: int) -> np.ndarray:
    """Return the sums of `terms` [terms, outputs]: [outputs], or [taps, outputs]."""
    sums: np.ndarray = (terms.reshape(-1, taps, terms.shape[1]) if taps else terms).sum(axis=0)
    return sums


def _some(terms: np.ndarray, first: int, count: int) -> np.ndarray:
    """Return some of `terms`; one stands for all."""
    return terms if len(terms) == 1 else terms[first : first + count]


def _powers(exponents: Sequence[int], kind: type) -> np.ndarray:
    return np.array([1 << e for e in exponents], dtype=kind)


def _candidates(lo: np.ndarray, hi: np.ndarray) -> list[np.ndarray]:
    """Return the ends and the codes next to 0, each inside lo..hi; equal arrays once."""
    if lo is hi:
        return [lo]
    found: list[np.ndarray] = []
    for candidate in (lo, hi, *(np.minimum(np.maximum(lo, value), hi) for value in (-1, 0, 1))):
        if not any((candidate == other).all() for other in found):
            found.append(candidate)
    return found
