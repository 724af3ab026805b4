"""Proved bounds of sums of terms, each term of one operand x and one operand w.

The bounds are separable: every term is bounded alone, then the bounds are added. This is exact where
the operands of one output vary independently, so for known weights it gives the smallest word that
is safe. The arithmetic is exact: int64 arrays where a bound in Python ints shows that nothing can
pass 2**62, arrays of Python ints otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mfsim.formats import Range


@dataclass(frozen=True)
class Operands:
    """Bounds of the operands of a product: int64 arrays that broadcast to [terms, outputs].

    Known weights have `w_lo` and `w_hi` equal.
    """

    x_lo: np.ndarray
    x_hi: np.ndarray
    w_lo: np.ndarray
    w_hi: np.ndarray

    @property
    def length(self) -> int:
        """Number of terms of one sum."""
        return max(len(self.x_lo), len(self.w_lo))

    def exact(self, shift_x: int, shift_w: int, product: bool) -> tuple[type, Operands]:
        """Return the type in which all sums of terms are exact, and the operands in it.

        A term is at most |x| * 2**shift_x + |w| * 2**shift_w, or |x| * |w| if `product`.
        """
        x, w = (max(abs(int(lo.min())), abs(int(hi.max())), 1) for lo, hi in self._pairs())
        largest = self.length * (x * w if product else (x << shift_x) + (w << shift_w))
        kind = np.int64 if largest < 2**62 else object
        return kind, Operands(*(a.astype(kind) for pair in self._pairs() for a in pair))

    def _pairs(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        return (self.x_lo, self.x_hi), (self.w_lo, self.w_hi)


@dataclass(frozen=True)
class Bounds:
    """Bounds of sums of terms, in Python ints, one for each output or one for all.

    `lo`, `hi` bound the whole sum, `least`, `greatest` every partial sum in any order; `term` bounds
    every single term of every output.
    """

    lo: np.ndarray
    hi: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    term: tuple[int, int]

    @classmethod
    def of_terms(cls, low: np.ndarray, high: np.ndarray) -> Bounds:
        """Return the bounds for terms between `low` and `high` [terms, outputs]."""
        sums = [part.sum(axis=0).astype(object) for part in (low, high, np.minimum(low, 0), np.maximum(high, 0))]
        return cls(sums[0], sums[1], sums[2], sums[3], (int(low.min()), int(high.max())))

    def started_with(self, bias: np.ndarray | None) -> Bounds:
        """Return the bounds of sums that `bias` (Python ints, one for each output, or None) starts."""
        if bias is None:
            return self
        least, greatest = np.minimum(bias, 0) + self.least, np.maximum(bias, 0) + self.greatest
        return Bounds(self.lo + bias, self.hi + bias, least, greatest, self.term)

    @property
    def partial(self) -> tuple[int, int]:
        """The bounds of all partial sums over all outputs."""
        return int(min(self.least)), int(max(self.greatest))

    def range(self, axis: int) -> Range:
        """Return the range of the whole sums, along `axis` where outputs differ."""
        return Range(tuple(self.lo), tuple(self.hi), axis if len(self.lo) > 1 else None)


def spread(values: Sequence[int], count: int) -> list[int]:
    """Return `count` values: the given ones, or the single one repeated."""
    return list(values) * count if len(values) == 1 else list(values)


def signs(codes: np.ndarray, zero: int) -> np.ndarray:
    """Return the signs of `codes` in their own type, `zero` for the code 0."""
    return np.where(codes > 0, 1, np.where(codes < 0, -1, zero)).astype(codes.dtype)


def mf_parts(x: np.ndarray, w: np.ndarray, form: str, zero: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the x-parts and w-parts of MF terms, from the definition (`mfsim/ops/products.py`)."""
    if form == "ef":
        return signs(w, zero) * x, signs(x, zero) * w
    return signs(w, zero) * abs(x), signs(x, zero) * abs(w)


def mf_bounds(operands: Operands, attributes: Mapping[str, Any]) -> tuple[Bounds, Bounds, Bounds]:
    """Return bounds of the sums of the x-parts, of the w-parts (both unshifted) and of whole terms.

    One accumulator takes the two parts of a term one after the other, so the partial sums of whole
    terms are those of all parts, which may have opposite signs (form `abs`).

    Every part, and its negative and positive half, is linear on each side of 0 in x and in w, so the
    extremes lie among the ends and -1, 0, 1.
    """
    shifts_x, shifts_w = attributes["shift_x"], attributes["shift_w"]
    kind, exact = operands.exact(max(shifts_x), max(shifts_w), product=False)
    gain_x, gain_w = _powers(shifts_x, kind), _powers(shifts_w, kind)
    terms: list[list[np.ndarray]] = [[] for _ in range(5)]
    for x in _candidates(exact.x_lo, exact.x_hi):
        for w in _candidates(exact.w_lo, exact.w_hi):
            a, b = mf_parts(x, w, attributes["form"], attributes["sign_zero"])
            left, right = a * gain_x, b * gain_w
            below = np.minimum(left, 0) + np.minimum(right, 0)
            above = np.maximum(left, 0) + np.maximum(right, 0)
            for k, part in enumerate((a, b, left + right, below, above)):
                terms[k] = [np.minimum(terms[k][0], part), np.maximum(terms[k][1], part)] if terms[k] else [part, part]
    x_part, w_part, joined = (Bounds.of_terms(low, high) for low, high in terms[:3])
    least, greatest = terms[3][0].sum(axis=0).astype(object), terms[4][1].sum(axis=0).astype(object)
    return x_part, w_part, replace(joined, least=least, greatest=greatest)


def dense_bounds(operands: Operands) -> Bounds:
    """Return the bounds of sums of products."""
    _, exact = operands.exact(0, 0, product=True)
    corners = [x * w for x in (exact.x_lo, exact.x_hi) for w in (exact.w_lo, exact.w_hi)]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = np.minimum(low, corner), np.maximum(high, corner)
    return Bounds.of_terms(low, high)


def _powers(exponents: Sequence[int], kind: type) -> np.ndarray:
    return np.array([1 << e for e in exponents], dtype=kind)


def _candidates(lo: np.ndarray, hi: np.ndarray) -> list[np.ndarray]:
    """Return the ends and the codes next to 0, each inside lo..hi; equal arrays once."""
    found: list[np.ndarray] = []
    for candidate in (lo, hi, *(np.minimum(np.maximum(lo, value), hi) for value in (-1, 0, 1))):
        if not any((candidate == other).all() for other in found):
            found.append(candidate)
    return found
