"""Formats of codes: words, proved ranges, scales, rounding and overflow rules.

All arithmetic here is in Python ints, so no width or range is ever rounded or wrapped.
A *code* is a stored integer; its real value is `code * 2**exponent`, with the exponent of its scale
(times a factor where a third-party file has a scale that is no power of two).
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from mfsim.errors import FormatError, RangeError, did_you_mean
from mfsim.keywords import check_constructor

MAX_BITS = 63
"""Widest word: every code of a signed or unsigned word of at most 63 bits fits int64."""

Rule = TypeVar("Rule", bound=enum.Enum)


class Rounding(enum.Enum):
    """How a value between two codes is rounded."""

    HALF_EVEN = "half_even"
    """To the nearest code, ties to the even one: -2.5 -> -2, -1.5 -> -2, -0.5 -> 0, 2.5 -> 2."""
    HALF_UP = "half_up"
    """To the nearest code, ties towards plus infinity: -2.5 -> -2, -1.5 -> -1, -0.5 -> 0, 2.5 -> 3."""
    HALF_AWAY = "half_away"
    """To the nearest code, ties away from zero: -2.5 -> -3, -1.5 -> -2, -0.5 -> -1, 2.5 -> 3."""
    FLOOR = "floor"
    """Towards minus infinity (an arithmetic right shift): -2.5 -> -3, -0.5 -> -1, 2.5 -> 2."""
    CEIL = "ceil"
    """Towards plus infinity: -2.5 -> -2, -0.5 -> 0, 2.5 -> 3."""
    TOWARD_ZERO = "toward_zero"
    """Towards zero (truncation of the magnitude): -2.5 -> -2, -0.5 -> 0, 2.5 -> 2."""

    @classmethod
    def parse(cls, name: str | Rounding) -> Rounding:
        """Return the member called `name`; a `FormatError` names the known ones.

        Parameters
        ----------
        name : str or Rounding; a member is returned as it is
        """
        return _parse(cls, name, "rounding")


class Overflow(enum.Enum):
    """What happens to a code that does not fit its word."""

    SATURATE = "saturate"
    """The nearest code of the word: in 4 signed bits -9 -> -8 and 8 -> 7; in 4 unsigned bits -1 -> 0."""
    WRAP = "wrap"
    """The code modulo 2**bits: in 4 signed bits -9 -> 7 and 8 -> -8; in 4 unsigned bits -1 -> 15."""

    @classmethod
    def parse(cls, name: str | Overflow) -> Overflow:
        """Return the member called `name`; a `FormatError` names the known ones.

        Parameters
        ----------
        name : str or Overflow; a member is returned as it is
        """
        return _parse(cls, name, "overflow")


def _parse(kind: type[Rule], name: str | Rule, what: str) -> Rule:
    if isinstance(name, kind):
        return name
    known = [member.value for member in kind]
    if name not in known:
        raise FormatError(f"`{what}` must be one of {', '.join(known)}, not {name!r}{did_you_mean(str(name), known)}")
    return kind(name)


@check_constructor
@dataclass(frozen=True, order=True)
class Format:
    """A word of `bits` bits, two's complement when `signed`.

    `bits` is in 1..63. `lo` and `hi` are its extreme codes.
    """

    bits: int
    signed: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits <= MAX_BITS:
            raise FormatError(f"`bits` must be an integer in 1..{MAX_BITS}, not {self.bits!r}")
        object.__setattr__(self, "signed", bool(self.signed))

    @property
    def lo(self) -> int:
        """The least code."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def hi(self) -> int:
        """The greatest code."""
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1

    def holds(self, lo: int, hi: int) -> bool:
        """Whether every code of lo..hi is a code of this word.

        Parameters
        ----------
        lo, hi : int, lo <= hi
        """
        return self.lo <= lo and hi <= self.hi

    @classmethod
    def of_range(cls, lo: int, hi: int, where: str = "the value") -> Format:
        """Return the smallest word that holds lo..hi: unsigned if lo >= 0, else two's complement.

        Raises `RangeError`, naming `where`, if that takes more than 63 bits.

        Parameters
        ----------
        lo, hi : int, lo <= hi
        where : what the range is of, for the message
        """
        bits = max(1, hi.bit_length()) if lo >= 0 else max((-lo - 1).bit_length(), max(hi, 0).bit_length()) + 1
        if bits > MAX_BITS:
            raise RangeError(f"{where} needs {bits} bits for {lo}..{hi}, and at most {MAX_BITS} bits are possible")
        return cls(bits, lo < 0)

    def __str__(self) -> str:
        return f"{'s' if self.signed else 'u'}{self.bits}"


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _parts(step: Fraction | float) -> tuple[int, Fraction]:
    """Return exponent and factor, at least 1 and less than 2, of a step."""
    if isinstance(step, float) and 0 < step < math.inf:
        mantissa, exponent = math.frexp(step)
        return exponent - 1, Fraction(2 * mantissa)
    exact = Fraction(step)
    if exact <= 0:
        raise FormatError(f"a scale must be positive, not {float(exact)!r}")
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= exact < _power(exponent)
    return exponent, exact / _power(exponent)


@check_constructor
@dataclass(frozen=True)
class Scale:
    """The grid of a tensor: real value = code * factor * 2**exponent.

    One exponent, with `axis` None, serves the whole tensor; else `exponents` has one entry for each
    index of the non-negative `axis`. In the dialect every scale is a power of two and `factors` is
    empty; third-party files may have scales between: then `factors` has one rational number f, 1 <= f < 2,
    for each exponent. An op that works on powers of two only asks for `exponent` or `powers`, which
    refuse factors, so that no factor is ever lost in silence.
    """

    exponents: tuple[int, ...] = (0,)
    axis: int | None = None
    factors: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        exponents = tuple(map(int, self.exponents))
        factors = tuple(map(Fraction, self.factors))
        axis = self.axis
        if factors and len(factors) != len(exponents):
            raise FormatError(
                f"a scale must have as many factors as exponents, not {len(factors)} and {len(exponents)}"
            )
        if any(not 1 <= f < 2 for f in factors):
            raise FormatError("the factors of a scale must be at least 1 and less than 2")
        if all(f == 1 for f in factors):
            factors = ()
        if axis is not None and len(set(exponents)) == 1 and len(set(factors)) <= 1:
            exponents, axis, factors = exponents[:1], None, factors[:1]
        if axis is None and len(exponents) != 1:
            raise FormatError(f"a scale without an axis must have one exponent, not {len(exponents)}")
        object.__setattr__(self, "exponents", exponents)
        object.__setattr__(self, "axis", axis)
        object.__setattr__(self, "factors", factors)

    @classmethod
    def of(cls, exponent: int) -> Scale:
        """Return the scale with one exponent.

        Parameters
        ----------
        exponent : int, e of the step 2**e
        """
        return cls((exponent,), None)

    @classmethod
    def of_steps(cls, steps: Sequence[Fraction | float], axis: int | None = None) -> Scale:
        """Return the scale whose codes are `steps` apart: one positive number, or one for each index of `axis`.

        A float is taken as the dyadic rational that it is. Raises `FormatError` for a step that is not positive.

        Parameters
        ----------
        steps : positive Fractions or floats, one where `axis` is None
        axis : int, the axis that they run along, or None
        """
        parts = [_parts(step) for step in steps]
        factors = tuple(factor for _, factor in parts)
        return cls(tuple(exponent for exponent, _ in parts), axis, factors if any(f != 1 for f in factors) else ())

    @property
    def exponent(self) -> int:
        """The exponent of one power of two; a `FormatError` for a scale of each channel or with a factor."""
        if self.axis is not None:
            raise FormatError(
                "one scale for the whole tensor is needed here, not one for each channel; requantize first"
            )
        return self.powers[0]

    @property
    def powers(self) -> tuple[int, ...]:
        """The exponents of powers of two; a `FormatError` for a scale with factors."""
        if self.factors:
            raise FormatError(f"a scale that is a power of two is needed here, not {self}; requantize first")
        return self.exponents

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """The exact real value of the code 1, one for each exponent."""
        factors = self.factors or (Fraction(1),) * len(self.exponents)
        return tuple(f * _power(e) for f, e in zip(factors, self.exponents, strict=True))

    def along(self, size: int) -> tuple[int, ...]:
        """Return `size` exponents: the stored ones, or the single one repeated.

        Parameters
        ----------
        size : int, length of the axis
        """
        return self.exponents if self.axis is not None else self.exponents * size

    def steps_along(self, size: int) -> tuple[Fraction, ...]:
        """Return `size` steps: the stored ones, or the single one repeated.

        Parameters
        ----------
        size : int, length of the axis
        """
        return self.steps if self.axis is not None else self.steps * size

    def moved(self, by: Sequence[int] | int, axis: int | None = None) -> Scale:
        """Return this scale with `by` added to its exponents (one int, or one for each index of `axis`).

        Parameters
        ----------
        by : int or ints; a sequence of one counts as an int
        axis : int, the axis that several run along
        """
        if isinstance(by, int):
            return Scale(tuple(e + by for e in self.exponents), self.axis, self.factors)
        if len(by) == 1:
            return self.moved(int(by[0]))
        if self.axis is not None and self.axis != axis:
            raise FormatError(f"a scale along axis {self.axis} cannot be moved along axis {axis}")
        factors = self.factors if self.axis is not None else self.factors * len(by)
        return Scale(tuple(e + b for e, b in zip(self.along(len(by)), by, strict=True)), axis, factors)

    def times(self, gains: Sequence[Fraction], axis: int | None = None) -> Scale:
        """Return this scale with its steps multiplied by one positive gain, or one for each index of `axis`.

        Parameters
        ----------
        gains : positive Fractions, at least one
        axis : int, the axis that several run along
        """
        if len(gains) == 1:
            return Scale.of_steps([step * gains[0] for step in self.steps], self.axis)
        if self.axis is not None and self.axis != axis:
            raise FormatError(f"a scale along axis {self.axis} cannot be multiplied along axis {axis}")
        return Scale.of_steps([s * g for s, g in zip(self.steps_along(len(gains)), gains, strict=True)], axis)

    def on(self, axis: int) -> Scale:
        """Return this scale along another axis, unless it is one for the whole tensor.

        Parameters
        ----------
        axis : int, not negative
        """
        return self if self.axis is None else Scale(self.exponents, axis, self.factors)

    def picked(self, indices: Sequence[int], axis: int) -> Scale:
        """Return the scale of the entries `indices`, now along `axis`.

        Parameters
        ----------
        indices : ints, each a valid index of the axis of this scale
        axis : int, not negative
        """
        if self.axis is None:
            return self
        factors = tuple(self.factors[i] for i in indices) if self.factors else ()
        return Scale(tuple(self.exponents[i] for i in indices), axis, factors)

    def __str__(self) -> str:
        shown = f"{float(self.factors[0]):.6g}*" if len(self.factors) == 1 else "1..2*" if self.factors else ""
        if self.axis is None:
            return f"{shown}2^{self.exponents[0]}"
        return f"{shown}2^{min(self.exponents)}..2^{max(self.exponents)} by axis {self.axis}"


@check_constructor
@dataclass(frozen=True)
class Range:
    """Proved bounds lo <= code <= hi, for the whole tensor or for each index of `axis`."""

    lo: tuple[int, ...]
    hi: tuple[int, ...]
    axis: int | None = None

    def __post_init__(self) -> None:
        lo, hi = tuple(map(int, self.lo)), tuple(map(int, self.hi))
        if len(lo) != len(hi) or not lo or (self.axis is None and len(lo) != 1):
            raise RangeError(
                f"a range needs as many lower as upper bounds, one for each index, not {len(lo)} and {len(hi)}"
            )
        if any(map(operator.gt, lo, hi)):
            raise RangeError("a range must have lo <= hi")
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)

    @classmethod
    def of(cls, lo: int, hi: int) -> Range:
        """Return the range lo..hi for a whole tensor.

        Parameters
        ----------
        lo, hi : int, lo <= hi
        """
        return cls((lo,), (hi,), None)

    @cached_property
    def low(self) -> int:
        """The least bound over all indices."""
        return min(self.lo)

    @cached_property
    def high(self) -> int:
        """The greatest bound over all indices."""
        return max(self.hi)

    @property
    def bound(self) -> int:
        """The greatest possible magnitude."""
        return max(-self.low, self.high, 0)

    def along(self, axis: int, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return (lo, hi) with `size` entries for `axis`; bounds along another axis are merged first.

        Parameters
        ----------
        axis : int, not negative
        size : int, length of that axis
        """
        if self.axis == axis:
            return self.lo, self.hi
        return (self.low,) * size, (self.high,) * size

    def merged(self) -> Range:
        """Return the range without its axis."""
        return Range.of(self.low, self.high)

    def map(self, function: Callable[[int, int], tuple[int, int]]) -> Range:
        """Return the range with `(lo, hi) -> (lo, hi)` applied to each index.

        Parameters
        ----------
        function : monotone, so that the bounds it returns are bounds again
        """
        pairs = [function(a, b) for a, b in zip(self.lo, self.hi, strict=True)]
        return Range(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), self.axis)
