"""quantize, dequantize, requantize: against apytypes on small words, against fractions on all others."""

from __future__ import annotations

import ast
import itertools
import math
import pathlib
import re
from fractions import Fraction

import apytypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfsim.errors import DataError, FormatError, RangeError, ShapeError
from mfsim.ir import formats
from mfsim.ir.fixed_point import dequantize, quantize, quantize_into, requantize
from mfsim.ir.formats import Format, Overflow, Rounding, Scale
from mfsim.kernels.operands import stored
from tests.bits import assert_bit_equal

MODES = {
    Rounding.HALF_EVEN: apytypes.QuantizationMode.TIES_EVEN,
    Rounding.HALF_UP: apytypes.QuantizationMode.TIES_POS,
    Rounding.HALF_AWAY: apytypes.QuantizationMode.TIES_AWAY,
    Rounding.FLOOR: apytypes.QuantizationMode.TO_NEG,
    Rounding.CEIL: apytypes.QuantizationMode.TO_POS,
    Rounding.TOWARD_ZERO: apytypes.QuantizationMode.TO_ZERO,
}
SOURCE_BITS, SOURCE_FRACTION = 9, 5
SOURCE = np.arange(-256, 256)

settings.register_profile("replayable", deadline=None, derandomize=True, max_examples=400)
replayable = settings.get_profile("replayable")

roundings = st.sampled_from(Rounding)
overflows = st.sampled_from(Overflow)
words = st.builds(Format, st.integers(1, 63), st.booleans())


def by_apytypes(rounding, overflow, word, fraction):
    """Return the codes of SOURCE * 2**-SOURCE_FRACTION in `word` with `fraction` fractional bits."""
    source = apytypes.APyFixedArray((SOURCE % 2**SOURCE_BITS).tolist(), bits=SOURCE_BITS, frac_bits=SOURCE_FRACTION)
    saturate = overflow is Overflow.SATURATE
    mode = apytypes.OverflowMode.SAT if saturate else apytypes.OverflowMode.WRAP
    # apytypes has signed words only: one bit more holds an unsigned word, and a wrapped one is the bit pattern.
    bits = word.bits + int(saturate and not word.signed)
    pattern = np.array(
        source.cast(bits=bits, frac_bits=fraction, quantization=MODES[rounding], overflow=mode).to_bits()
    )
    signed = np.where(pattern >= 1 << (bits - 1), pattern - (1 << bits), pattern)
    if word.signed:
        return signed
    return np.maximum(signed, 0) if saturate else pattern


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("overflow", Overflow)
@pytest.mark.parametrize("rounding", Rounding)
def test_all_small_words_equal_apytypes(rounding, overflow, signed):
    values = SOURCE * 2.0**-SOURCE_FRACTION
    for bits in range(1, 9):
        word = Format(bits, signed)
        for fraction in range(-5, 8):
            expected = by_apytypes(rounding, overflow, word, fraction)
            rules = {"rounding": rounding, "overflow": overflow}
            what = f"{word} with {fraction} fractional bits"
            assert_bit_equal(quantize(values, Scale.of(-fraction), word, **rules), expected, what)
            source = Scale.of(-SOURCE_FRACTION)
            assert_bit_equal(requantize(SOURCE, source, Scale.of(-fraction), word, **rules), expected, what)


def rounded(value: Fraction, rounding: Rounding) -> int:
    """Return `value` rounded by Python's own functions."""
    half = Fraction(1, 2)
    away = math.floor(abs(value) + half)
    return {
        Rounding.HALF_EVEN: round(value),
        Rounding.HALF_UP: math.floor(value + half),
        Rounding.HALF_AWAY: away if value >= 0 else -away,
        Rounding.FLOOR: math.floor(value),
        Rounding.CEIL: math.ceil(value),
        Rounding.TOWARD_ZERO: math.trunc(value),
    }[rounding]


def fitted(code: int, word: Format, overflow: Overflow, narrow: bool) -> int:
    """Return `code` in `word`."""
    if overflow is Overflow.WRAP:
        return (code - word.lo) % 2**word.bits + word.lo
    return sorted((word.lo + (narrow and word.signed), code, word.hi))[1]


@replayable
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4)
    | st.lists(st.floats(-(2.0**70), 2.0**70), min_size=1, max_size=4),
    exponent=st.integers(-70, 70) | st.integers(-1200, 1200),
    word=words,
    rounding=roundings,
    overflow=overflows,
    narrow=st.booleans(),
)
def test_quantize_equals_fractions(values, exponent, word, rounding, overflow, narrow):
    narrow = narrow and overflow is Overflow.SATURATE
    got = quantize(np.array(values), Scale.of(exponent), word, rounding=rounding, overflow=overflow, narrow=narrow)
    exact = [rounded(Fraction(v) / Fraction(2) ** exponent, rounding) for v in values]
    assert_bit_equal(got, np.array([fitted(code, word, overflow, narrow) for code in exact]))


@replayable
@given(
    codes=st.lists(st.integers(-(2**62), 2**62 - 1), min_size=1, max_size=4)
    | st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4),
    exponents=st.tuples(st.integers(-31, 31), st.integers(-31, 31)),
    word=words,
    rounding=roundings,
    overflow=overflows,
    narrow=st.booleans(),
)
def test_requantize_equals_fractions(codes, exponents, word, rounding, overflow, narrow):
    narrow = narrow and overflow is Overflow.SATURATE
    source, target = exponents
    ratio = Fraction(2) ** (source - target)
    exact = [rounded(code * ratio, rounding) for code in codes]
    try:
        got = requantize(
            np.array(codes),
            Scale.of(source),
            Scale.of(target),
            word,
            rounding=rounding,
            overflow=overflow,
            narrow=narrow,
        )
    except RangeError:
        past_the_word = max(exact) >= 2**63 or min(exact) < -(2**62) or (min(exact) < 0 and max(exact) >= 2**62)
        assert past_the_word or (ratio < 1 and max(codes) >= 2**62), "only 63 bits justify a refusal"
    else:
        assert_bit_equal(got, np.array([fitted(code, word, overflow, narrow) for code in exact]))


@pytest.mark.parametrize("rounding", Rounding)
def test_ties_next_to_2_to_the_53(rounding):
    codes = np.array([s * (2**54 + k) for s in (1, -1) for k in range(-5, 6)])
    exact = [rounded(Fraction(int(c), 4), rounding) for c in codes]
    assert_bit_equal(requantize(codes, Scale.of(0), Scale.of(2), Format(60), rounding=rounding), np.array(exact))
    halves = np.array([s * (2**51 + k / 2) for s in (1, -1) for k in range(-5, 6)])
    exact = [rounded(Fraction(v), rounding) for v in halves.tolist()]
    assert_bit_equal(quantize(halves, Scale.of(0), Format(60), rounding=rounding), np.array(exact))


def examples_of(kind) -> dict[str, str]:
    """Return the docstring below each member of an enum in mfsim/ir/formats.py."""
    tree = ast.parse(pathlib.Path(formats.__file__).read_text())
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__]
    docs = {}
    for member, doc in itertools.pairwise(body):
        if isinstance(member, ast.Assign) and isinstance(doc, ast.Expr):
            docs[member.targets[0].id] = doc.value.value
    return docs


@pytest.mark.parametrize("rounding", Rounding)
def test_rounding_docstring_tells_the_truth(rounding):
    examples = re.findall(r"(-?[\d.]+) -> (-?\d+)", examples_of(Rounding)[rounding.name])
    assert len(examples) >= 3
    assert any(float(value) < 0 for value, _ in examples)
    for value, code in examples:
        assert quantize(np.array(float(value)), Scale.of(0), Format(4), rounding=rounding) == int(code), value


@pytest.mark.parametrize("overflow", Overflow)
def test_overflow_docstring_tells_the_truth(overflow):
    clauses = re.findall(r"in (\d) (signed|unsigned) bits ([^;.]*)", examples_of(Overflow)[overflow.name])
    assert {sign for _, sign, _ in clauses} == {"signed", "unsigned"}
    for bits, sign, pairs in clauses:
        for value, code in re.findall(r"(-?\d+) -> (-?\d+)", pairs):
            word = Format(int(bits), sign == "signed")
            assert quantize(np.array(float(value)), Scale.of(0), word, overflow=overflow) == int(code), value


def test_values_past_int64_saturate_and_wrap():
    values = np.array([2.0**63, -(2.0**63), 1.5e300, -1.5e300, 3 * 2.0**62, -(2.0**64) + 2.0**12])
    for word in (Format(63), Format(63, False), Format(8)):
        high, low = word.hi, word.lo
        assert_bit_equal(quantize(values, Scale.of(0), word), np.array([high, low, high, low, high, low]))
    wrapped = np.array([0, 0, 0, 0, -(2**62), 2**12])
    assert_bit_equal(quantize(values, Scale.of(0), Format(63), overflow="wrap"), wrapped)


def test_the_least_double_is_not_lost():
    least = np.array([5e-324, -5e-324])
    assert_bit_equal(quantize(least, Scale.of(900), Format(8), rounding="ceil"), np.array([1, 0]))
    assert_bit_equal(quantize(least, Scale.of(900), Format(8), rounding="floor"), np.array([0, -1]))
    assert_bit_equal(quantize(least, Scale.of(-1074), Format(8)), np.array([1, -1]))


@pytest.mark.parametrize("exponent", [-2000, -64, 0, 64, 2000])
@pytest.mark.parametrize("overflow", Overflow)
@pytest.mark.parametrize("rounding", Rounding)
def test_zero_stays_zero_on_every_grid(rounding, overflow, exponent):
    got = quantize(np.array([0.0, -0.0]), Scale.of(exponent), Format(8), rounding=rounding, overflow=overflow)
    assert_bit_equal(got, np.array([0, 0]))


def test_narrow_leaves_out_the_least_code():
    values = np.array([-9.0, -8.0, -7.0, 9.0])
    assert_bit_equal(quantize(values, Scale.of(0), Format(4), narrow=True), np.array([-7, -7, -7, 7]))
    assert_bit_equal(quantize(values, Scale.of(0), Format(4, False), narrow=True), np.array([0, 0, 0, 9]))
    got = requantize(np.array([-9, 9]), Scale.of(0), Scale.of(0), Format(4), narrow=True)
    assert_bit_equal(got, np.array([-7, 7]))


def test_every_kind_of_input_array():
    expected = np.array([[-3, 2], [0, 7]])
    values = expected / 4
    for array in (
        values.astype(np.float16),
        values.astype(np.float32),
        values.astype(">f8"),
        np.asfortranarray(values),
        values.tolist(),
    ):
        assert_bit_equal(quantize(array, Scale.of(-2), Format(5)), expected)
    assert_bit_equal(quantize(expected.astype(np.int8), Scale.of(0), Format(5)), expected)
    assert_bit_equal(quantize(np.zeros((0, 3)), Scale.of(0), Format(5)), np.zeros((0, 3), dtype=np.int64))
    assert_bit_equal(
        requantize(np.zeros((0, 3), int), Scale.of(0), Scale.of(3), Format(5)), np.zeros((0, 3), dtype=np.int64)
    )
    assert quantize(0.75, Scale.of(-2), Format(5)).shape == ()
    assert dequantize(3, Scale.of(-2)) == 0.75
    assert requantize(3, Scale.of(-2), Scale.of(0), Format(5)) == 1


def test_one_scale_for_each_channel():
    scale = Scale((0, -1, 2), 1)
    values = np.array([[[1.0, 2.5], [1.0, 2.5], [1.0, 2.5]], [[-4.0, 0.0], [-4.0, 0.0], [-4.0, 6.0]]])
    codes = np.array([[[1, 2], [2, 5], [0, 1]], [[-4, 0], [-8, 0], [-1, 2]]])
    assert_bit_equal(quantize(values, scale, Format(8)), codes)
    assert dequantize(codes, scale).tolist() == [[[1, 2], [1, 2.5], [0, 4]], [[-4, 0], [-4, 0], [-4, 8]]]
    assert_bit_equal(
        requantize(codes, scale, Scale.of(0), Format(8)),
        np.array([[[1, 2], [1, 2], [0, 4]], [[-4, 0], [-4, 0], [-4, 8]]]),
    )
    same = requantize(requantize(codes, scale, Scale.of(-1), Format(8)), Scale.of(-1), scale, Format(8))
    assert_bit_equal(same, codes)


@replayable
@given(codes=st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=4), exponent=st.integers(-1022, 960))
def test_dequantize_is_exact_up_to_53_bits(codes, exponent):
    values = dequantize(np.array(codes), Scale.of(exponent))
    assert values.dtype == np.float64
    assert [Fraction(v) for v in values.tolist()] == [c * Fraction(2) ** exponent for c in codes]
    assert_bit_equal(quantize(values, Scale.of(exponent), Format(55)), np.array(codes))


def test_dequantize_gives_the_nearest_double_past_53_bits():
    codes = np.array([2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**63 - 1])
    assert dequantize(codes, Scale.of(1)).tolist() == [2.0**54, 2.0**54 + 8, -(2.0**54), 2.0**64]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: quantize(np.array([[0.0, 1.0], [np.nan, 0.0]]), Scale.of(0), Format(8)),
            DataError,
            "`values` must be finite, but the one at (1, 0) is nan",
        ),
        (
            lambda: quantize(np.array([0.0, -np.inf], dtype=np.float32), Scale.of(0), Format(8)),
            DataError,
            "`values` must be finite, but the one at (1,) is -inf",
        ),
        (
            lambda: quantize(np.array(["1"]), Scale.of(0), Format(8)),
            DataError,
            "`values` must be float16, float32 or float64, not <U1",
        ),
        (
            lambda: quantize(np.array([2**53 + 1]), Scale.of(0), Format(8)),
            DataError,
            "integer `values` must be within -2**53..2**53; `requantize` takes longer codes",
        ),
        (
            lambda: quantize(np.zeros(2), Scale.of(0), Format(8), narrow=True, overflow="wrap"),
            FormatError,
            "`narrow` must be False with `overflow` wrap",
        ),
        (
            lambda: quantize(np.zeros(2), Scale.of(0), Format(8), rounding="half_evn"),
            FormatError,
            "`rounding` must be one of half_even, half_up, half_away, floor, ceil, toward_zero, not 'half_evn'; "
            "did you mean `half_even`?",
        ),
        (
            lambda: quantize(np.zeros((2, 3)), Scale((0, 1), 1), Format(8)),
            ShapeError,
            "`values` of shape (2, 3) must have 2 entries along axis 1, one for each exponent",
        ),
        (
            lambda: dequantize(np.zeros(3, dtype=int), Scale((0, 1), 1)),
            ShapeError,
            "`codes` of shape (3,) must have 2 entries along axis 1, one for each exponent",
        ),
        (lambda: dequantize(np.array([0.5]), Scale.of(0)), FormatError, "`codes` must be integers, not float"),
        (
            lambda: dequantize(np.array([1]), Scale.of(961)),
            FormatError,
            "`scale` must have exponents in -1022..960 for values in float64, not 2^961",
        ),
        (
            lambda: requantize(np.zeros((2, 2), int), Scale((0, 1), 0), Scale((0, 1), 1), Format(8)),
            FormatError,
            "`scale_to` must vary along axis 0 like `scale_from`, not axis 1",
        ),
        (
            lambda: requantize(np.zeros(2, int), Scale.of(0), Scale.of(63), Format(8)),
            FormatError,
            "`shift` of op `requantize` must be in -62..62, not (63,)",
        ),
        (
            lambda: requantize(np.array([3]), Scale.of(62), Scale.of(0), Format(8)),
            RangeError,
            "requantize before its word needs 64 bits for 13835058055282163712..13835058055282163712, "
            "and at most 63 bits are possible",
        ),
        (
            lambda: requantize(np.array([2**63 - 1]), Scale.of(0), Scale.of(1), Format(8), rounding="half_up"),
            RangeError,
            "requantize before its shift needs 64 bits for 0..9223372036854775808, and at most 63 bits are possible",
        ),
        (
            lambda: requantize(np.array([-(2**63)]), Scale.of(0), Scale.of(1), Format(8)),
            RangeError,
            "the widest code needs 64 bits for -9223372036854775808..-9223372036854775808, and at most 63 bits are possible",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("exponent", [-51, -50, -7, 0, 50, 51])
@pytest.mark.parametrize("word", [Format(8), Format(24), Format(24, False), Format(25), Format(52)], ids=str)
def test_float32_near_halves_and_the_ends_of_words(word, exponent, rounding):
    """Where values are rounded in float32, and just beyond: the same codes as in rational numbers."""
    rng = np.random.default_rng(3)
    codes = np.concatenate([rng.integers(word.lo, word.hi, 40), [word.lo - 1, word.lo, word.hi, word.hi + 1, 0, -1, 1]])
    exact = np.concatenate([codes + part for part in (0.0, 0.5, -0.5, 0.25)])
    values = np.ldexp(exact.astype(np.float32), exponent)
    values = np.concatenate(
        [values, np.nextafter(values, np.float32(np.inf)), np.nextafter(values, -np.float32(np.inf))]
    )
    found = quantize(values, Scale.of(exponent), word, rounding=rounding)
    limits = word.lo, word.hi
    expected = [
        min(max(rounded(Fraction(float(value)) / Fraction(2) ** exponent, rounding), limits[0]), limits[1])
        for value in values
    ]
    assert found.tolist() == expected
    narrow = np.empty(values.shape, stored(word.lo, word.hi))
    if quantize_into(narrow, values, Scale.of(exponent), limits, rounding):
        assert narrow.tolist() == expected
