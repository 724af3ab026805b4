"""What the multiplication-free and the dense products share: term values, ranges, alignment.

A multiplication-free (MF) term of x and w is a sum of two parts, each of one operand and one sign:

    form `ef`    x-part sign(w) * x,    w-part sign(x) * w      = sign(x) sign(w) (|x| + |w|)
    form `abs`   x-part sign(w) * |x|,  w-part sign(x) * |w|

`sign_zero` is the sign of the code 0. The parts lie on the grids of x and of w. On the grid `split`
each has its own accumulator, and one shift and one add per output join them; `shared` needs x and w
on one scale and has one accumulator; `aligned` shifts the operands to the finer scale first.

Sources: `ef`: Afrasiyabi et al., arXiv 1702.02676; `abs`: "Learned Queries and Keys", eq. 15.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.errors import FormatError
from mfsim.formats import Range, Scale
from mfsim.ops.op import Attribute

FORMS = ("ef", "abs")
GRIDS = ("split", "shared", "aligned")

MF_ATTRIBUTES = (
    Attribute("form", "str", "which MF operator", "ef", FORMS),
    Attribute("sign_zero", "int", "sign of the code 0: 0, or 1 for a hardware sign bit", 0, (0, 1)),
    Attribute("grid", "str", "where the two parts are accumulated", "split", GRIDS),
    Attribute("shift_x", "ints", "left shift of the x-part; one, or one for each output", derived=True),
    Attribute("shift_w", "ints", "left shift of the w-part; one, or one for each output", derived=True),
)
"""Attributes of every MF product."""


def sign_of(code: int, zero: int) -> int:
    """Return the sign of a Python int, `zero` for 0."""
    return (code > 0) - (code < 0) if code else zero


def term_parts(x: int, w: int, form: str, zero: int) -> tuple[int, int]:
    """Return (x-part, w-part) of one MF term, from the definition."""
    if form == "ef":
        return sign_of(w, zero) * x, sign_of(x, zero) * w
    return sign_of(w, zero) * abs(x), sign_of(x, zero) * abs(w)


def derive_shifts(x: Scale, w: Scale, grid: str) -> dict[str, tuple[int, ...]]:
    """Return `shift_x` and `shift_w` that bring both parts to the finer of the two grids."""
    ex, ews = x.exponent, w.exponents
    if grid == "shared" and any(e != ex for e in ews):
        raise FormatError(f"`grid` shared needs x and w on one scale, not {x} and {w}; use split")
    if grid == "aligned" and len(ews) != 1:
        raise FormatError("`grid` aligned needs one scale for all of w; use split")
    finest = [min(ex, ew) for ew in ews]
    shift_x = tuple(ex - f for f in finest)
    shift_w = tuple(ew - f for ew, f in zip(ews, finest, strict=True))
    return {
        "shift_x": shift_x if len(set(shift_x)) > 1 else shift_x[:1],
        "shift_w": shift_w if len(set(shift_w)) > 1 else shift_w[:1],
    }


def joined_scale(x: Scale, w: Scale, attributes, axis: int) -> Scale:
    """Return the output scale, checking that the shifts lead both parts to the same grid."""
    expected = derive_shifts(x, w, attributes["grid"])
    for name, value in expected.items():
        if tuple(attributes[name]) != value:
            raise FormatError(f"`{name}` must be {value} for the scales {x} and {w}, not {attributes[name]}")
    exponents = tuple(min(x.exponent, e) for e in w.exponents)
    return Scale(exponents, axis if len(exponents) > 1 else None)


def check_bias(bias, scale: Scale, outputs: int, axis: int) -> None:
    """Raise `FormatError` unless `bias` (or None) has shape [outputs] and lies on the accumulator's grid."""
    if bias is None:
        return
    if bias.shape != (outputs,):
        raise FormatError(f"the bias must have the shape ({outputs},), not {bias.shape}")
    given = Scale(bias.scale.exponents, axis if bias.scale.axis is not None else None)
    if given != scale:
        raise FormatError(f"the bias must lie on the grid of its accumulator, {scale}, not {bias.scale}")


def term_candidates(lo: int, hi: int) -> list[int]:
    """Return the codes of lo..hi among which every term, linear on each side of 0, is extreme."""
    return sorted({c for c in (lo, hi, -1, 0, 1) if lo <= c <= hi})


class Bounds:
    """Sums of terms bounded from below and above, one entry for each output.

    `lo`, `hi` bound the whole sum; `least`, `greatest` bound every partial sum in any order.
    """

    def __init__(self, lo, hi, least, greatest) -> None:
        self.lo, self.hi, self.least, self.greatest = lo, hi, least, greatest

    @classmethod
    def of_terms(cls, low: np.ndarray, high: np.ndarray) -> Bounds:
        """Return the bounds for terms between `low` and `high`, summed over axis 0 (object arrays)."""
        return cls(
            low.sum(axis=0),
            high.sum(axis=0),
            np.minimum(low, 0).sum(axis=0),
            np.maximum(high, 0).sum(axis=0),
        )

    def started_with(self, bias: np.ndarray | None) -> Bounds:
        """Return the bounds of sums that `bias` (lo, hi as an object array each, or None) starts."""
        if bias is None:
            return self
        lo, hi = bias
        return Bounds(
            self.lo + lo, self.hi + hi, np.minimum(lo, 0) + self.least, np.maximum(hi, 0) + self.greatest
        )

    @property
    def partial(self) -> tuple[int, int]:
        """The bounds of all partial sums over all outputs."""
        return int(min(self.least)), int(max(self.greatest))

    def range(self, axis: int) -> Range:
        """Return the range of the whole sums along `axis`."""
        lo, hi = tuple(int(v) for v in self.lo), tuple(int(v) for v in self.hi)
        return Range(lo, hi, axis)


def mf_bounds(
    x_lo: Sequence[int], x_hi: Sequence[int], w_lo: np.ndarray, w_hi: np.ndarray, attributes
) -> tuple[Bounds, Bounds, Bounds]:
    """Return bounds of the x-part sums, the w-part sums and the joined sums.

    `x_lo[k]..x_hi[k]` bounds operand k; `w_lo`, `w_hi` are object arrays [K, outputs] (equal for
    known weights, for which the joined bound is attained).
    """
    outputs = w_lo.shape[1]
    shift_x = np.array([1 << s for s in _spread(attributes["shift_x"], outputs)], dtype=object)
    shift_w = np.array([1 << s for s in _spread(attributes["shift_w"], outputs)], dtype=object)
    form, zero = attributes["form"], attributes["sign_zero"]
    lows, highs = [], []
    w_values = _candidate_planes(w_lo, w_hi)
    for part in range(3):
        low, high = None, None
        for x in _candidate_columns(x_lo, x_hi):
            for w in w_values:
                sx, sw = _signs(x, zero), _signs(w, zero)
                a, b = (sw * x, sx * w) if form == "ef" else (sw * abs(x), sx * abs(w))
                term = (a, b, a * shift_x + b * shift_w)[part]
                low = term if low is None else np.minimum(low, term)
                high = term if high is None else np.maximum(high, term)
        lows.append(low)
        highs.append(high)
    bounds = [Bounds.of_terms(low, high) for low, high in zip(lows, highs, strict=True)]
    return bounds[0], bounds[1], bounds[2]


def dense_bounds(x_lo: Sequence[int], x_hi: Sequence[int], w_lo: np.ndarray, w_hi: np.ndarray) -> Bounds:
    """Return the bounds of sums of products; arguments as for `mf_bounds`."""
    x_lo, x_hi = (np.array(v, dtype=object)[:, None] for v in (x_lo, x_hi))
    corners = [x * w for x in (x_lo, x_hi) for w in (w_lo, w_hi)]
    low, high = corners[0], corners[0]
    for corner in corners[1:]:
        low, high = np.minimum(low, corner), np.maximum(high, corner)
    return Bounds.of_terms(low, high)


def _spread(values: Sequence[int], count: int) -> list[int]:
    return list(values) * count if len(values) == 1 else list(values)


def _signs(values: np.ndarray, zero: int) -> np.ndarray:
    return (values > 0).astype(object) - (values < 0).astype(object) + zero * (values == 0).astype(object)


def _candidate_columns(lo: Sequence[int], hi: Sequence[int]) -> list[np.ndarray]:
    """Return columns [K, 1], the j-th with the j-th candidate of each operand."""
    lists = [term_candidates(a, b) for a, b in zip(lo, hi, strict=True)]
    longest = max(len(c) for c in lists)
    return [
        np.array([c[min(j, len(c) - 1)] for c in lists], dtype=object)[:, None] for j in range(longest)
    ]


def _candidate_planes(lo: np.ndarray, hi: np.ndarray) -> list[np.ndarray]:
    if (lo == hi).all():
        return [lo]
    planes = [lo, hi]
    for value in (-1, 0, 1):
        planes.append(np.minimum(np.maximum(lo, value), hi))
    return planes
