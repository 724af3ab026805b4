"""add, sub, concat: alignment of grids, kept ranges, and every refusal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

S8 = Format(8)
CHANNELS = Scale((-3, -5), 1)


def image(scale, shape=(2, 3), word=S8):
    return activation("x", shape, word, scale)


def outcome(op, *tensors, **attributes):
    return prove(op, *tensors, **attributes).outputs[0]


def test_the_finer_grid_is_kept():
    y = outcome("add", image(Scale.of(-2)), image(Scale.of(-5)))
    assert (y.scale, y.range) == (Scale.of(-5), Range.of(-(128 * 8) - 128, 127 * 8 + 127))
    y = outcome("sub", image(Scale.of(-5)), image(Scale.of(-2)))
    assert (y.scale, y.range) == (Scale.of(-5), Range.of(-128 - 127 * 8, 127 + 128 * 8))
    assert prove("sub", image(Scale.of(-5)), image(Scale.of(-2))).words == {"aligned_b": Format(11)}


def test_one_scale_for_each_channel_needs_no_shift():
    y = outcome("add", image(CHANNELS), image(CHANNELS))
    assert (y.scale, y.format) == (CHANNELS, Format(9))
    assert counted("add", image(CHANNELS), image(CHANNELS)) == Counter(addsub=6)
    constant_b = constant("b", [[4], [5]], None, Scale((-3, -5), 0))
    assert outcome("sub", image(CHANNELS), constant_b).scale == CHANNELS


def test_values_add_up():
    a, b = image(Scale.of(-1), (1,)), image(Scale.of(-3), (1,))
    assert compute("add", (a, b), ([[3]], [[-5]])) == [[7]]
    assert compute("sub", (a, b), ([[-128]], [[127]])) == [[-639]]


def test_the_shift_of_a_constant_is_offline_work():
    x, bias = image(Scale.of(-6)), constant("b", [1, 2, 3], None, Scale.of(-2))
    assert counted("add", x, bias) == Counter(addsub=6)
    assert counted("add", x, bias, offline=True) == Counter(shift=3)
    assert counted("add", image(Scale.of(-1)), bias) == Counter(addsub=6, shift=6)


def test_a_sum_keeps_the_range_of_each_channel():
    ranged = Tensor("x", (1, 2, 3), S8, Scale.of(0), Range((-3, 0), (-1, 9), 1))
    assert outcome("add", ranged, ranged).range == Range((-6, 0), (-2, 18), 1)
    assert outcome("sub", image(Scale.of(0)), constant("b", [[1], [-2]])).range == Range((-129, -126), (126, 129), 1)
    assert outcome("add", ranged, constant("b", [5, 7, 6])).range == Range((2, 5), (6, 16), 1)
    assert outcome("add", image(Scale.of(0)), constant("b", [[1, 2, 3], [0, 4, 0]])).range == Range.of(-128, 131)


def test_the_difference_of_one_tensor_is_not_said_to_be_tight():
    x = image(Scale.of(0))
    assert not prove("sub", x, x).tight
    assert prove("sub", x, image(Scale.of(0))).tight


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize(
    ("a", "b", "attributes", "error", "message"),
    [
        (
            image(CHANNELS),
            image(Scale((-3, -4), 1)),
            {},
            FormatError,
            "the operands of op `{op}` have different scales for each channel, 2^-5..2^-3 by axis 1 and 2^-4..2^-3 by axis 1; "
            "requantize first",
        ),
        (
            image(Scale.of(-3)),
            image(CHANNELS),
            {},
            FormatError,
            "the operands of op `{op}` have different scales for each channel, 2^-3 and 2^-5..2^-3 by axis 1; requantize first",
        ),
        (
            image(CHANNELS),
            constant("b", [[4], [5]], None, Scale((-3, -4), 0)),
            {},
            FormatError,
            "the operands of op `{op}` have different scales for each channel, 2^-5..2^-3 by axis 1 and 2^-4..2^-3 by axis 1; "
            "requantize first",
        ),
        (
            image(Scale.of(-40)),
            image(Scale.of(23)),
            {},
            FormatError,
            "the scales of the operands of op `{op}`, 2^-40 and 2^23, must be at most 62 bits apart",
        ),
        (
            image(Scale.of(0)),
            image(Scale.of(-3)),
            {"shift_a": 2},
            FormatError,
            "`shift_a` of op `{op}` must be 3 for the scales of its operands, not 2",
        ),
        (
            image(Scale.of(0)),
            image(Scale.of(57)),
            {},
            RangeError,
            "the aligned b needs 65 bits for -18446744073709551616..18302628885633695744, and at most 63 bits are possible",
        ),
        (
            image(Scale.of(0)),
            image(Scale.of(0), (2, 1)),
            {},
            ShapeError,
            "the operands of op `{op}` must have one shape, not (1, 2, 3) and (1, 2, 1)",
        ),
        (
            image(Scale.of(0)),
            constant("b", [[[1, 2, 3]]]),
            {},
            ShapeError,
            "a constant operand of op `{op}` must broadcast to (2, 3), which (1, 1, 3) does not",
        ),
        (
            image(Scale.of(0), (2, 1)),
            constant("b", [1, 2, 3]),
            {},
            ShapeError,
            "a constant operand of op `{op}` must broadcast to (2, 1), which (3,) does not",
        ),
        (
            constant("b", [1, 2, 3]),
            image(Scale.of(0)),
            {},
            ShapeError,
            "only the second operand of op `{op}` may be constant",
        ),
    ],
)
def test_refusals_of_sums(op, a, b, attributes, error, message):
    assert refusal(op, a, b, **attributes) == (error, message.format(op=op))


def test_concat_aligns_and_keeps_the_range_of_each_index():
    a = Tensor("a", (1, 2, 3), S8, Scale.of(-1), Range((-3, 0), (-1, 9), 1))
    b = activation("b", (1, 3), Format(5, False), Scale.of(-3))
    y = outcome("concat", a, b, axis=1)
    assert (y.shape, y.scale) == ((1, 3, 3), Scale.of(-3))
    assert (y.range, y.format) == (Range((-12, 0, 0), (-4, 36, 31), 1), Format(8))
    assert counted("concat", a, b, axis=1) == Counter(shift=6)
    assert outcome("concat", a, a, axis=2).range == Range.of(-3, 9)


def test_concat_takes_the_smallest_word_that_holds_all_where_the_widest_does_not():
    y = outcome("concat", activation("a", (1,), Format(8, False)), activation("b", (1,), Format(4)), axis=1)
    assert y.format == Format(9)
    small = Tensor("b", (1, 1), Format(12), Scale.of(0), Range.of(0, 3))
    assert outcome("concat", activation("a", (1,), Format(8)), small, axis=1).format == Format(12)


def test_scales_behind_each_other_need_no_shift():
    y = outcome("concat", image(CHANNELS), image(Scale.of(-7), (1, 3)), axis=1)
    assert y.scale == Scale((-3, -5, -7), 1)
    assert counted("concat", image(CHANNELS), image(Scale.of(-7), (1, 3)), axis=1) == Counter()


@pytest.mark.parametrize(
    ("tensors", "attributes", "error", "message"),
    [
        (
            (image(CHANNELS), image(Scale.of(-3))),
            {"axis": 2},
            FormatError,
            "the operands of op `concat` have different scales for each channel, 2^-5..2^-3 by axis 1 and 2^-3; requantize first",
        ),
        (
            (image(Scale.of(0)), image(Scale.of(0), (1, 2))),
            {"axis": 1},
            ShapeError,
            "the inputs of op `concat` must differ in axis 1 only, not be (1, 2, 3) and (1, 1, 2)",
        ),
        (
            (image(Scale.of(0)), image(Scale.of(0), (2,))),
            {"axis": 1},
            ShapeError,
            "the inputs of op `concat` must differ in axis 1 only, not be (1, 2, 3) and (1, 2)",
        ),
        ((image(Scale.of(0)),), {"axis": 0}, ShapeError, "an axis of op `concat` must be in 1..2, not 0"),
        ((image(Scale.of(0)),), {"axis": 3}, ShapeError, "an axis of op `concat` must be in 1..2, not 3"),
        (
            (image(Scale.of(0)), constant("w", np.zeros((2, 3), int))),
            {"axis": 1},
            ShapeError,
            "the inputs of op `concat` must not be constant",
        ),
        (
            (image(Scale.of(0)), image(Scale.of(-2))),
            {"axis": 1, "shifts": (0, 2)},
            FormatError,
            "`shifts` of op `concat` must be (2, 0) for the scales of its operands, not (0, 2)",
        ),
        (
            (image(Scale.of(60)), image(Scale.of(0))),
            {"axis": 1},
            RangeError,
            "concat needs 68 bits for -147573952589676412928..146421031085069565952, and at most 63 bits are possible",
        ),
    ],
)
def test_refusals_of_concat(tensors, attributes, error, message):
    assert refusal("concat", *tensors, **attributes) == (error, message)
