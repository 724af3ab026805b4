"""accumulator, clip, requantize, soft threshold and the sign ops: exact ranges, clamps, refusals, events."""

from __future__ import annotations

import importlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfsim import ops
from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import activation, constant
from mfsim.ops.overflow import clamped_bounds, fit, needed_clamp, wrapped_bounds
from tests.ops.proving import compute, counted, prove, refusal

INTERVALS = st.tuples(st.integers(-80, 80), st.integers(0, 60)).map(lambda p: (p[0], p[0] + p[1]))
WORDS = st.builds(Format, st.integers(1, 5), st.booleans())


def x_of(lo, hi, scale=None):
    return Tensor("x", (1, 1), Format.of_range(lo, hi), scale or Scale(), Range.of(lo, hi))


def outcome(op, *tensors, **attributes):
    return prove(op, *tensors, **attributes).outputs[0]


@settings(deadline=None, derandomize=True)
@given(INTERVALS, WORDS)
def test_wrapped_bounds_are_exact(interval, word):
    codes = [fit(c, word.lo, word.hi, word.bits, word.signed, "wrap") for c in range(interval[0], interval[1] + 1)]
    assert wrapped_bounds([interval], word) == [(min(codes), max(codes))]


@settings(deadline=None, derandomize=True)
@given(INTERVALS, WORDS)
def test_clamped_bounds_are_exact_and_name_the_ends(interval, word):
    codes = [min(max(c, word.lo), word.hi) for c in range(interval[0], interval[1] + 1)]
    needed = needed_clamp([interval], word.lo, word.hi)
    assert clamped_bounds("clip", [interval], word.lo, word.hi, needed) == [(min(codes), max(codes))]
    assert (
        needed
        == {(False, False): "none", (True, False): "low", (False, True): "high", (True, True): "both"}[
            interval[0] < word.lo, interval[1] > word.hi
        ]
    )


@pytest.mark.parametrize(("overflow", "events"), [("saturate", 4), ("wrap", 4)])
def test_accumulator_counts_the_codes_that_did_not_fit(overflow, events):
    x = activation("x", (4,), Format(6))
    op = ops.get("accumulator")
    attributes = op.derived([x], {"bits": 4, "overflow": overflow})
    codes = np.array([[-9, -8, 7, 8], [31, -32, 0, 1]])
    out = np.empty_like(codes)
    assert importlib.import_module("mfsim.ops.grid.kernels").run_accumulator([codes], attributes, [out]) == events
    expected = {"saturate": [[-8, -8, 7, 7], [7, -8, 0, 1]], "wrap": [[7, -8, 7, -8], [-1, 0, 0, 1]]}[overflow]
    assert out.tolist() == expected


def test_accumulator_that_is_wide_enough_costs_nothing():
    x = x_of(-8, 7)
    assert counted("accumulator", x, bits=4) == Counter()
    assert counted("accumulator", x, bits=9, overflow="wrap") == Counter()
    assert outcome("accumulator", x, bits=9).format == Format(9)
    assert outcome("accumulator", PER_CHANNEL, bits=4).scale == PER_CHANNEL.scale
    assert counted("accumulator", x, bits=3, signed=0) == Counter(cmp=1, select=1)
    assert counted("accumulator", x, bits=3) == Counter(cmp=2, select=2)


@pytest.mark.parametrize(
    ("lo", "hi", "magnitude", "word"),
    [(-128, 127, (0, 128), Format(8, False)), (-9, -3, (3, 9), Format(4, False)), (2, 7, (2, 7), Format(3, False))],
)
def test_magnitudes(lo, hi, magnitude, word):
    y = outcome("abs", x_of(lo, hi))
    assert (y.range, y.format) == (Range.of(*magnitude), word)


def test_the_least_code_grows_by_one_bit_when_negated():
    y = outcome("neg", activation("x", (1,), Format(8)))
    assert (y.range, y.format) == (Range.of(-127, 128), Format(9))
    assert refusal("neg", activation("x", (1,), Format(63, False))) == (
        RangeError,
        "neg needs 64 bits for -9223372036854775807..0, and at most 63 bits are possible",
    )


def test_signs_lie_on_the_grid_of_one():
    per_channel = activation("x", (2, 3), Format(8), Scale((-3, -4), 1))
    assert outcome("sign", per_channel).scale == Scale.of(0)
    assert outcome("sign", per_channel).format == Format(2)
    assert outcome("sign", x_of(0, 9), sign_zero=1).range == Range.of(1, 1)
    assert outcome("sign", x_of(0, 9)).range == Range.of(0, 1)
    assert compute("sign", [x_of(-3, 3)], [[[-2], [0], [3]]], sign_zero=1) == [[-1], [1], [1]]


def test_soft_threshold_at_and_next_to_the_threshold():
    x, t = activation("x", (1,), Format(4)), constant("t", [3])
    assert compute("soft_threshold", (x, t), [[[c] for c in (-8, -4, -3, -2, 0, 2, 3, 4, 7)]]) == [
        [-5], [-1], [0], [0], [0], [0], [0], [1], [4]
    ]  # fmt: skip


def test_soft_threshold_proves_the_range_of_each_channel():
    x = Tensor("x", (1, 3, 2), Format(8), Scale.of(-1), Range((-100, -3, 20), (-90, 3, 100), 1))
    t = constant("t", [5, 3, 120], None, Scale.of(-1))
    y = outcome("soft_threshold", x, t, axis=1)
    assert (y.range, y.scale) == (Range((-95, 0, 0), (-85, 0, 0), 1), Scale.of(-1))
    assert prove("soft_threshold", x, t, axis=1).words == {"magnitude": Format(7, False), "difference": Format(8)}
    assert counted("soft_threshold", x, t, axis=1) == Counter(
        dict.fromkeys(("abs", "addsub", "cmp", "select", "neg"), 6)
    )


X = activation("x", (2, 3), Format(8), Scale.of(-4))
PER_CHANNEL = activation("x", (2, 3), Format(8), Scale((-3, -4), 1))


@pytest.mark.parametrize(
    ("op", "tensors", "attributes", "error", "message"),
    [
        ("clip", (X,), {"lo": 3, "hi": 2}, FormatError, "`lo` of op `clip` must be at most `hi`, not 3 with 2"),
        (
            "clip",
            (PER_CHANNEL,),
            {"lo": 0, "hi": 2},
            FormatError,
            "op `clip` needs one scale for the whole tensor, not 2^-4..2^-3 by axis 1; requantize first",
        ),
        (
            "clip",
            (X,),
            {"lo": 0, "hi": 9, "clamp": "high"},
            FormatError,
            "`clamp` of op `clip` must not be high: the input range passes 0..9",
        ),
        (
            "clip",
            (X,),
            {"lo": 0, "hi": 2**63},
            RangeError,
            "a bound of op `clip` needs 64 bits for 0..9223372036854775808, and at most 63 bits are possible",
        ),
        (
            "accumulator",
            (X,),
            {"bits": 4, "clamp": "none"},
            FormatError,
            "`clamp` of op `accumulator` must not be none: the input range passes -8..7",
        ),
        (
            "accumulator",
            (X,),
            {"bits": 4, "overflow": "wrap", "clamp": "both"},
            FormatError,
            "`clamp` of op `accumulator` must be none with `overflow` wrap",
        ),
        ("accumulator", (X,), {"bits": 64}, FormatError, "`bits` must be an integer in 1..63, not 64"),
        (
            "requantize",
            (X,),
            {"shift": (1,), "bits": 4, "overflow": "wrap", "narrow": 1},
            FormatError,
            "`narrow` of op `requantize` must be 0 with `overflow` wrap",
        ),
        (
            "requantize",
            (activation("x", (1,), Format(63, False)),),
            {"shift": (3,), "bits": 8, "rounding": "ceil"},
            RangeError,
            "requantize before its shift needs 64 bits for 0..9223372036854775814, and at most 63 bits are possible",
        ),
        (
            "soft_threshold",
            (X, X),
            {},
            FormatError,
            "the threshold of op `soft_threshold` must be a constant of codes that are at least 0",
        ),
        (
            "soft_threshold",
            (X, constant("t", [-1], None, Scale.of(-4))),
            {},
            FormatError,
            "the threshold of op `soft_threshold` must be a constant of codes that are at least 0",
        ),
        (
            "soft_threshold",
            (X, constant("t", [1], None, Scale.of(-3))),
            {},
            FormatError,
            "the threshold of op `soft_threshold` must lie on the scale of x, 2^-4, not 2^-3",
        ),
        (
            "soft_threshold",
            (PER_CHANNEL, constant("t", [1], None, Scale.of(-3))),
            {},
            FormatError,
            "the threshold of op `soft_threshold` must lie on the scale of x, 2^-4..2^-3 by axis 1, not 2^-3",
        ),
        (
            "soft_threshold",
            (X, constant("t", [1, 2], None, Scale.of(-4))),
            {},
            ShapeError,
            "the threshold of op `soft_threshold` must have the shape (1,), not (2,)",
        ),
        (
            "soft_threshold",
            (X, constant("t", [1, 2], None, Scale.of(-4))),
            {"axis": 2},
            ShapeError,
            "the threshold of op `soft_threshold` must have the shape (1,) or (3,), not (2,)",
        ),
        (
            "soft_threshold",
            (X, constant("t", [1], None, Scale.of(-4))),
            {"axis": 3},
            ShapeError,
            "`axis` of op `soft_threshold` must be -1 or in 1..2, not 3",
        ),
    ],
)
def test_refusals(op, tensors, attributes, error, message):
    assert refusal(op, *tensors, **attributes) == (error, message)
