"""Integers of norms: guard bits that fit under the root, and thresholds from their definition."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from mfsim.errors import FormatError, RangeError
from mfsim.ir.formats import Format
from mfsim.ops.norm.tables import eps_code, guard_bits, reciprocal_bits, row_bits, shift_thresholds


@pytest.mark.parametrize("width", [1, 2, 3, 64, 65, 768, 4096])
@pytest.mark.parametrize("word", [Format(8), Format(8, False), Format(16)])
@pytest.mark.parametrize("fraction", [0, 5, 10])
def test_guard_bits_are_f_plus_2_or_all_that_fit_under_the_root(width, word, fraction):
    guard = guard_bits(fraction, word, width, -4, 1e-5)
    assert guard <= fraction + 2
    greatest = (width * max(-word.lo, word.hi)) ** 2 * 4**guard + eps_code(1e-5, width, -4, guard)
    assert greatest < 2**62
    # Rows of 2^n codes at the lower end of a signed word fill the bound.
    full = (1 << row_bits(width)) ** 2 * 4 ** (word.bits - word.signed)
    assert guard == fraction + 2 or full * 4 ** (guard + 1) >= 2**61


def test_guard_bits_give_way_to_eps():
    assert guard_bits(8, Format(8), 64, 0, 1.0) == 10
    with_large_eps = guard_bits(8, Format(8), 64, -16, 1.0)
    assert with_large_eps == 8
    assert eps_code(1.0, 64, -16, with_large_eps) < 2**61 <= eps_code(1.0, 64, -16, with_large_eps + 1)


def test_eps_is_rounded_to_the_nearest_code():
    for eps in (0.0, 1e-5, 0.3, 7.0):
        for guard in (0, 3):
            exact = Fraction(eps) * 9 * 4 ** (guard + 2)
            assert abs(eps_code(eps, 3, -2, guard) - exact) <= Fraction(1, 2)
    assert eps_code(2.0**-5, 1, -2, 0) == 1


def test_reciprocal_bits_leave_a_product_room():
    assert reciprocal_bits(5, Format(8), 65, 7, 1) == 7 + 7 + 7 + 5 + 2 + 4
    assert reciprocal_bits(10, Format(16), 4096, 3, 1) == 60 - 10 - 6 - 1
    assert reciprocal_bits(10, Format(16), 4096, 3, 4) == 60 - 10 - 6 - 4


@pytest.mark.parametrize("word", [Format(4), Format(8), Format(8, False), Format(16)])
@pytest.mark.parametrize("width", [1, 7, 64, 192])
def test_thresholds_are_the_least_statistics_nearer_to_the_next_power(word, width):
    count = word.bits + (not word.signed) + row_bits(width) + 1
    l1, l2 = (shift_thresholds(kind, word, width) for kind in ("l1", "l2"))
    assert len(l1) == len(l2) == count
    with mpmath.workdps(60):
        for j, (by_magnitude, by_square) in enumerate(zip(l1, l2, strict=True), 1):
            least = mpmath.mpf(2) ** (j - mpmath.mpf("0.5"))
            scale = mpmath.sqrt(mpmath.pi / 2) / width
            assert (by_magnitude - 1) * scale < least <= by_magnitude * scale
            assert mpmath.sqrt(by_square - 1) < least <= mpmath.sqrt(by_square) * (1 + mpmath.mpf(10) ** -50)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: row_bits(0), FormatError, "`width` of a norm must be at least 1, not 0"),
        (
            lambda: eps_code(-1.0, 4, 0, 0),
            FormatError,
            "`eps` of a norm must be finite and at least 0, not -1.0",
        ),
        (
            lambda: guard_bits(5, Format(16), 2**17, 0, 0.0),
            RangeError,
            "a norm of 131072 codes of s16 with `eps` 0.0 needs more than 62 bits under its root",
        ),
        (
            lambda: shift_thresholds("l3", Format(8), 4),
            FormatError,
            "`kind` of a norm must be l1 or l2, not 'l3'",
        ),
        (
            lambda: shift_thresholds("l2", Format(16), 2**15),
            RangeError,
            "the last threshold of a norm of 32768 codes of s16 needs 64 bits for 0..9223372036854775808, "
            "and at most 63 bits are possible",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message
