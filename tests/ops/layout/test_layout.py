"""Layout ops: where the axes of scales and ranges go, which word is kept, and every refusal."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mfsim.errors import FormatError, LostScaleError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import activation
from tests.ops.proving import counted, prove, refusal

S8 = Format(8)
X = Tensor("x", (1, 2, 3, 4), S8, Scale((-1, -2), 1), Range((-3, -2, -1), (1, 2, 3), 2))
PLAIN = activation("x", (2, 3, 4), S8)


def outcome(op, x, **attributes):
    return prove(op, x, **attributes).outputs[0]


def ranged(axis, size=(2, 3, 4)):
    n = size[axis - 1]
    return Tensor("x", (1, *size), S8, Scale.of(0), Range(tuple(-k for k in range(n)), tuple(range(10, 10 + n)), axis))


def test_transpose_moves_axes():
    y = outcome("transpose", X, perm=(0, 3, 1, 2))
    assert (y.shape, y.format) == ((1, 4, 2, 3), S8)
    assert (y.scale, y.range) == (Scale((-1, -2), 2), Range((-3, -2, -1), (1, 2, 3), 3))


def test_slice_picks_entries():
    y = outcome("slice", X, axes=(1, 2), starts=(1, 2), ends=(2, -1), steps=(1, -2))
    assert (y.shape, y.scale) == ((1, 1, 2, 4), Scale.of(-2))
    assert y.range == Range((-1, -3), (3, 1), 2)
    one = outcome("slice", ranged(3), axes=(3,), starts=(1,), ends=(2,), steps=(1,))
    assert (one.range, one.format) == (Range.of(-1, 11), S8)


def test_pad_sets_new_entries_apart():
    assert outcome("pad", ranged(1), pads=(0, 1, 0, 0, 0, 0, 0, 0)).range == Range((0, 0, -1), (0, 10, 11), 1)
    y = outcome("pad", ranged(1), pads=(0, 0, 1, 0, 0, 0, 0, 0), value=15)
    assert (y.range, y.shape) == (Range((0, -1), (15, 15), 1), (1, 2, 4, 4))
    assert outcome("pad", PLAIN, pads=(0, 0, 0, 0, 0, 0, 0, 1), value=200).format == Format(9)
    assert outcome("pad", X, pads=(0, 0, 0, 1, 0, 0, 0, 0)).scale == X.scale


def per_index(range_, shape):
    """Return the bounds of each code of one sample."""
    view = [1] * len(shape)
    view[range_.axis if range_.axis is not None else 0] = -1
    return tuple(np.broadcast_to(np.reshape(bound, view), shape)[0] for bound in (range_.lo, range_.hi))


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize(
    "shape", [(24,), (2, 12), (6, 4), (2, 3, 4), (2, 3, 2, 2), (2, 1, 3, 4), (3, 8), (4, 3, 2), (8, 3), (12, 2)]
)
def test_reshape_keeps_a_range_where_one_axis_can_carry_it(axis, shape):
    x = ranged(axis)
    y = outcome("reshape", x, shape=shape).range
    exact = [bound.reshape(shape) for bound in per_index(x.range, x.shape)]
    proved = per_index(y, (1, *shape))
    if y.axis is None:
        assert y == x.range.merged()
        others = [tuple(k for k in range(len(shape)) if k != axis) for axis in range(len(shape))]
        varies = [any((b.max(o, keepdims=True) != b).any() for b in exact) for o in others]
        assert all(varies), "some axis could carry the range"
    else:
        assert all((p == e).all() for p, e in zip(proved, exact, strict=True))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_flatten_repeats_a_range(axis):
    x = ranged(axis)
    y = outcome("flatten", x)
    lo, hi = per_index(x.range, x.shape)
    assert y.shape == (1, 24)
    assert y.range == Range(tuple(lo.reshape(-1).tolist()), tuple(hi.reshape(-1).tolist()), 1)


def test_reshape_that_keeps_the_channels_keeps_their_scale():
    x = activation("x", (2, 3, 4), S8, Scale((-1, -2), 1))
    for shape, axis in (((2, 12), 1), ((2, 3, 2, 2), 1), ((1, 2, 12), 2)):
        assert outcome("reshape", x, shape=shape).scale == Scale((-1, -2), axis)
    assert outcome("flatten", activation("x", (2, 1, 1), S8, Scale((-1, -2), 1))).scale == Scale((-1, -2), 1)


def test_flatten_repeats_a_scale():
    """A product of each channel, flattened in front of the next layer's quantizer."""
    x = activation("x", (2, 1, 2), S8, Scale((-1, -2), 1))
    assert outcome("flatten", x).scale == Scale((-1, -1, -2, -2), 1)
    assert outcome("reshape", x, shape=(4, 1)).scale == Scale((-1, -1, -2, -2), 1)


def test_a_uniform_range_loses_its_axis():
    x = Tensor("x", (1, 2, 3), S8, Scale.of(0), Range((-1, -1), (5, 5), 1))
    assert outcome("flatten", x).range == Range.of(-1, 5)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("flatten", {}),
        ("reshape", {"shape": (24,)}),
        ("transpose", {"perm": (0, 2, 1, 3)}),
        ("slice", {"axes": (1,), "starts": (0,), "ends": (1,), "steps": (1,)}),
        ("pad", {"pads": (0, 1, 0, 0, 0, 0, 0, 0)}),
        ("shift", {"exponents": (3,)}),
    ],
)
def test_moving_codes_costs_nothing_and_keeps_their_word(op, attributes):
    x = Tensor("x", (1, 2, 3, 4), S8, Scale.of(0), Range.of(-3, 3))
    assert outcome(op, x, **attributes).format == S8
    assert counted(op, x, **attributes) == Counter()


def test_shift_moves_the_scale():
    assert outcome("shift", PLAIN, exponents=(-3,)).scale == Scale.of(-3)
    assert outcome("shift", PLAIN, exponents=(1, 0), axis=1).scale == Scale((1, 0), 1)
    assert outcome("shift", X, exponents=(0, 1), axis=1).scale == Scale.of(-1)


@pytest.mark.parametrize(
    ("op", "x", "attributes", "error", "message"),
    [
        (
            "reshape",
            X,
            {"shape": (3, 8)},
            LostScaleError,
            "op `reshape` would lose axis 1, along which the scale of x varies; requantize first",
        ),
        (
            "reshape",
            PLAIN,
            {"shape": (5, 5)},
            ShapeError,
            "`shape` of op `reshape` must hold 24 codes like (2, 3, 4), not be (5, 5)",
        ),
        (
            "reshape",
            PLAIN,
            {"shape": (-1, -24)},
            ShapeError,
            "`shape` of op `reshape` must hold 24 codes like (2, 3, 4), not be (-1, -24)",
        ),
        (
            "transpose",
            PLAIN,
            {"perm": (1, 0, 2, 3)},
            ShapeError,
            "`perm` of op `transpose` must order the axes 0..3 with 0 in front, not be (1, 0, 2, 3)",
        ),
        (
            "transpose",
            PLAIN,
            {"perm": (0, 1, 1, 3)},
            ShapeError,
            "`perm` of op `transpose` must order the axes 0..3 with 0 in front, not be (0, 1, 1, 3)",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (0,), "starts": (0,), "ends": (1,), "steps": (1,)},
            ShapeError,
            "an axis of op `slice` must be in 1..3, not 0",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (1, 1), "starts": (0, 0), "ends": (1, 1), "steps": (1, 1)},
            ShapeError,
            "op `slice` needs one of `starts`, `ends` and `steps` for each of its different `axes`",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (2,), "starts": (1,), "ends": (4,), "steps": (1,)},
            ShapeError,
            "start 1, end 4, step 1 of op `slice` must keep indices in 0..2 of axis 2",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (2,), "starts": (1,), "ends": (1,), "steps": (1,)},
            ShapeError,
            "start 1, end 1, step 1 of op `slice` must keep indices in 0..2 of axis 2",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (2,), "starts": (0,), "ends": (3,), "steps": (0,)},
            ShapeError,
            "start 0, end 3, step 0 of op `slice` must keep indices in 0..2 of axis 2",
        ),
        (
            "slice",
            PLAIN,
            {"axes": (2,), "starts": (-1,), "ends": (2,), "steps": (1,)},
            ShapeError,
            "start -1, end 2, step 1 of op `slice` must keep indices in 0..2 of axis 2",
        ),
        (
            "pad",
            PLAIN,
            {"pads": (0, 1, 0, 0)},
            ShapeError,
            "`pads` of op `pad` must be 8 ints of at least 0, and 0 for the batch, not (0, 1, 0, 0)",
        ),
        (
            "pad",
            PLAIN,
            {"pads": (0, 0, 0, 0, 1, 0, 0, 0)},
            ShapeError,
            "`pads` of op `pad` must be 8 ints of at least 0, and 0 for the batch, not (0, 0, 0, 0, 1, 0, 0, 0)",
        ),
        (
            "pad",
            PLAIN,
            {"pads": (0, 0, -1, 0, 0, 0, 0, 0)},
            ShapeError,
            "`pads` of op `pad` must be 8 ints of at least 0, and 0 for the batch, not (0, 0, -1, 0, 0, 0, 0, 0)",
        ),
        (
            "pad",
            X,
            {"pads": (0, 0, 1, 0, 0, 0, 0, 0), "value": 1},
            FormatError,
            "op `pad` of a scale along axis 1 must have `value` 0 and leave that axis as it is; requantize first",
        ),
        (
            "pad",
            X,
            {"pads": (0, 0, 0, 0, 0, 1, 0, 0)},
            FormatError,
            "op `pad` of a scale along axis 1 must have `value` 0 and leave that axis as it is; requantize first",
        ),
        (
            "shift",
            PLAIN,
            {"exponents": (1, 2)},
            FormatError,
            "`exponents` of op `shift` must be one int when `axis` is -1",
        ),
        (
            "shift",
            PLAIN,
            {"exponents": (1, 2), "axis": 2},
            FormatError,
            "`exponents` of op `shift` must have one int for each index of axis 2 of (1, 2, 3, 4)",
        ),
        (
            "shift",
            X,
            {"exponents": (1, 2, 3), "axis": 2},
            FormatError,
            "a scale along axis 1 cannot be moved along axis 2",
        ),
    ],
)
def test_refusals(op, x, attributes, error, message):
    assert refusal(op, x, **attributes) == (error, message)
