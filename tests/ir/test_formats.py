"""Formats, scales and ranges: every bound, every message."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import MAX_BITS, Format, Overflow, Range, Rounding, Scale


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits", [1, 2, 8, 62, 63])
def test_extreme_codes(bits, signed):
    word = Format(bits, signed)
    assert word.hi - word.lo == 2**bits - 1
    assert word.lo == (-(2 ** (bits - 1)) if signed else 0)
    assert word.holds(word.lo, word.hi)
    assert not word.holds(word.lo - 1, word.hi)
    assert not word.holds(word.lo, word.hi + 1)


@pytest.mark.parametrize("bits", [0, -1, 64, 8.0, True, "8", None])
def test_word_length_is_an_integer_in_1_to_63(bits):
    with pytest.raises(FormatError) as caught:
        Format(bits)
    assert str(caught.value) == f"`bits` must be an integer in 1..63, not {bits!r}"
    assert isinstance(caught.value, ValueError)


def test_shown_and_compared():
    assert (str(Format(8)), str(Format(5, False))) == ("s8", "u5")
    assert Format(8, 1) == Format(8, True)
    assert Format(7) < Format(8)
    assert len({Format(8), Format(8, True), Format(8, False)}) == 2


@pytest.mark.parametrize(
    ("lo", "hi", "word"),
    [
        (0, 0, Format(1, False)),
        (0, 1, Format(1, False)),
        (1, 1, Format(1, False)),
        (0, 2, Format(2, False)),
        (200, 255, Format(8, False)),
        (-1, -1, Format(1)),
        (-1, 0, Format(1)),
        (-1, 1, Format(2)),
        (-2, -2, Format(2)),
        (-8, -5, Format(4)),
        (-8, 7, Format(4)),
        (-9, 7, Format(5)),
        (-8, 8, Format(5)),
        (0, 2**63 - 1, Format(63, False)),
        (-(2**62), 2**62 - 1, Format(63)),
        (-(2**62), -(2**62), Format(63)),
    ],
)
def test_smallest_word_of_a_range(lo, hi, word):
    assert Format.of_range(lo, hi) == word


@given(st.integers(-(2**62), 2**62 - 1), st.integers(-(2**62), 2**62 - 1))
def test_no_smaller_word_holds_the_range(a, b):
    lo, hi = min(a, b), max(a, b)
    word = Format.of_range(lo, hi)
    assert word.holds(lo, hi)
    assert word.bits == 1 or not any(Format(word.bits - 1, signed).holds(lo, hi) for signed in (word.signed, True))


@pytest.mark.parametrize(
    ("lo", "hi", "bits"), [(0, 2**63, 64), (-1, 2**62, 64), (-(2**62) - 1, 0, 64), (-(2**70), 5, 71)]
)
def test_past_63_bits_is_an_error_that_names_the_place(lo, hi, bits):
    with pytest.raises(RangeError) as caught:
        Format.of_range(lo, hi, "accumulator `a`")
    assert (
        str(caught.value)
        == f"accumulator `a` needs {bits} bits for {lo}..{hi}, and at most {MAX_BITS} bits are possible"
    )


def test_rules_are_parsed_by_name():
    assert Rounding.parse("half_even") is Rounding.HALF_EVEN
    assert Rounding.parse(Rounding.CEIL) is Rounding.CEIL
    assert Overflow.parse("wrap") is Overflow.WRAP
    with pytest.raises(FormatError) as caught:
        Overflow.parse("saturated")
    assert str(caught.value) == "`overflow` must be one of saturate, wrap, not 'saturated'; did you mean `saturate`?"
    with pytest.raises(FormatError) as caught:
        Rounding.parse("x")
    assert str(caught.value) == (
        "`rounding` must be one of half_even, half_up, half_away, floor, ceil, toward_zero, not 'x'"
    )


def test_equal_exponents_need_no_axis():
    assert Scale((-3, -3, -3), 1) == Scale.of(-3)
    assert Scale((-3, -2), 1) != Scale((-3, -2), 2)
    assert Scale.of(-3).along(3) == (-3, -3, -3)
    assert Scale((-3, -2), 1).along(2) == (-3, -2)
    assert (str(Scale.of(-3)), str(Scale((-3, 2, 0), 1))) == ("2^-3", "2^-3..2^2 by axis 1")


def test_scale_of_a_channel_where_one_is_needed():
    with pytest.raises(FormatError) as caught:
        _ = Scale((0, 1), 1).exponent
    assert (
        str(caught.value) == "one scale for the whole tensor is needed here, not one for each channel; requantize first"
    )
    with pytest.raises(FormatError) as caught:
        Scale((0, 1))
    assert str(caught.value) == "a scale without an axis must have one exponent, not 2"


def test_moved_scales():
    assert Scale.of(-3).moved(2) == Scale.of(-1)
    assert Scale.of(-3).moved((2,), 5) == Scale.of(-1)
    assert Scale.of(-3).moved((2, 0), 1) == Scale((-1, -3), 1)
    assert Scale((-1, -3), 1).moved((0, 2), 1) == Scale.of(-1)
    assert Scale((-1, -3), 1).moved(1) == Scale((0, -2), 1)
    with pytest.raises(FormatError) as caught:
        Scale((-1, -3), 1).moved((1, 2), 2)
    assert str(caught.value) == "a scale along axis 1 cannot be moved along axis 2"


def test_ranges():
    range_ = Range((-3, 0), (-1, 9), 1)
    assert (range_.low, range_.high, range_.bound) == (-3, 9, 9)
    assert Range.of(-9, -5).bound == 9
    assert range_.merged() == Range.of(-3, 9)
    assert range_.along(1, 2) == ((-3, 0), (-1, 9))
    assert range_.along(2, 3) == ((-3, -3, -3), (9, 9, 9))
    assert range_.map(lambda lo, hi: (-hi, -lo)) == Range((1, -9), (3, 0), 1)


@pytest.mark.parametrize(
    ("lo", "hi", "axis", "message"),
    [
        ((1,), (0,), None, "a range must have lo <= hi"),
        ((0, 5), (1, 4), 1, "a range must have lo <= hi"),
        ((0, 1), (1,), 1, "a range needs as many lower as upper bounds, one for each index, not 2 and 1"),
        ((0, 1), (1, 2), None, "a range needs as many lower as upper bounds, one for each index, not 2 and 2"),
        ((), (), 1, "a range needs as many lower as upper bounds, one for each index, not 0 and 0"),
    ],
)
def test_range_errors(lo, hi, axis, message):
    with pytest.raises(RangeError) as caught:
        Range(lo, hi, axis)
    assert str(caught.value) == message


def test_scale_between_powers_of_two():
    scale = Scale.of_steps([0.3])
    assert (scale.exponents, scale.factors) == ((-2,), (Fraction(0.3) * 4,))
    assert scale.steps == (Fraction(0.3),)
    assert Scale.of_steps([0.25]) == Scale.of(-2)
    assert Scale.of_steps([2**70, Fraction(1, 3)], 1).steps == (2**70, Fraction(1, 3))
    assert Scale.of_steps([0.3, 0.3], 1) == scale
    assert str(scale) == "1.2*2^-2"
    assert scale.moved(3).steps == (Fraction(0.3) * 8,)
    assert scale.moved((1, 0), 1).steps == (Fraction(0.3) * 2, Fraction(0.3))
    assert scale.times((Fraction(1, 3), Fraction(2)), 2) == Scale.of_steps([Fraction(0.3) / 3, Fraction(0.3) * 2], 2)
    assert Scale.of_steps([0.3, 1], 1).on(2) == Scale.of_steps([0.3, 1], 2)
    assert Scale.of_steps([0.3, 1], 1).picked((1, 0, 1), 0) == Scale.of_steps([1, 0.3, 1], 0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Scale.of_steps([0.0]), "a scale must be positive, not 0.0"),
        (lambda: Scale((0,), None, (2,)), "the factors of a scale must be at least 1 and less than 2"),
        (lambda: Scale((0, 1), 1, (1,)), "a scale must have as many factors as exponents, not 1 and 2"),
        (
            lambda: Scale.of_steps([0.3]).exponent,
            "a scale that is a power of two is needed here, not 1.2*2^-2; requantize first",
        ),
        (
            lambda: Scale.of_steps([0.3, 1], 1).powers,
            "a scale that is a power of two is needed here, not 1..2*2^-2..2^0 by axis 1; requantize first",
        ),
        (
            lambda: Scale.of_steps([0.3, 1], 1).times((Fraction(1, 3), Fraction(2)), 2),
            "a scale along axis 1 cannot be multiplied along axis 2",
        ),
    ],
)
def test_scale_with_factors_refuses(make, text):
    with pytest.raises(FormatError, match=re.escape(text)):
        make()
