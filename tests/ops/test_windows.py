"""Convolution and pooling: hand-made values, counts, proved ranges at the border, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

BYTE = Format(8)
IMAGE = activation("x", (1, 3, 3), BYTE)
PICTURE = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]


def weights(*shape):
    return constant("w", np.ones(shape, dtype=int), BYTE)


def test_convolution_is_not_mirrored():
    w = constant("w", np.array([[[[1, 10], [100, 1000]]]]))
    assert compute("conv2d", (IMAGE, w), [PICTURE]) == [[[[5421, 6532], [8754, 9865]]]]
    assert compute("conv2d", (IMAGE, w), [PICTURE], strides=(2, 2), pads=(0, 0, 1, 1)) == [[[[5421, 603], [87, 9]]]]
    assert compute("conv2d", (IMAGE, w), [PICTURE], dilations=(2, 2)) == [[[[9731]]]]


def test_groups_keep_channels_apart():
    x = activation("x", (4, 1, 1), BYTE)
    w = constant("w", np.array([[1, 10], [2, 20]]).reshape(2, 2, 1, 1))
    assert compute("conv2d", (x, w), [[[[[1]], [[2]], [[3]], [[4]]]]], groups=2) == [[[[21]], [[86]]]]


def test_ranges_are_proved_by_channel_and_by_output():
    x = replace(activation("x", (2, 1, 1), BYTE), range=Range((0, -5), (100, 5), 1))
    w = constant("w", np.array([[2, 0], [0, -3]]).reshape(2, 2, 1, 1))
    (y,) = prove("conv2d", x, w).outputs
    assert y.range == Range((0, -15), (200, 15), 1)
    grouped = constant("w", np.array([2, -3]).reshape(2, 1, 1, 1))
    assert prove("conv2d", x, grouped, groups=2).outputs[0].range == Range((0, -15), (200, 15), 1)


def test_padded_taps_are_the_code_0():
    x = replace(IMAGE, range=Range.of(5, 9))
    assert prove("conv2d", x, weights(1, 1, 1, 2)).outputs[0].range == Range.of(10, 18)
    assert prove("conv2d", x, weights(1, 1, 1, 2), pads=(0, 0, 0, 1)).outputs[0].range == Range.of(5, 18)
    assert prove("conv2d", x, weights(1, 1, 1, 2), pads=(0, 0, 0, 2)).outputs[0].range == Range.of(0, 18)


def test_greatest_code_has_the_range_of_its_channel():
    x = replace(activation("x", (2, 2, 2), BYTE), range=Range((-9, 3), (-1, 50), 1))
    assert prove("max_pool2d", x, kernel=(2, 2)).outputs[0].range == x.range
    rows = replace(x, range=Range((-9, 3), (-1, 50), 2))
    assert prove("max_pool2d", rows, kernel=(2, 2)).outputs[0].range == Range.of(-9, 50)


def test_greatest_code_leaves_padding_out():
    x = [[[[-1, -2, -3], [-4, -5, -6], [-7, -8, -9]]]]
    attributes = {"kernel": (2, 2), "strides": (2, 2), "pads": (1, 1, 0, 0)}
    assert compute("max_pool2d", (IMAGE,), [x], **attributes) == [[[[-1, -2], [-4, -5]]]]
    # four windows of four taps execute three comparisons each, the taps in the padding too
    assert counted("max_pool2d", IMAGE, **attributes) == {"cmp": 12, "select": 12}
    assert counted("max_pool2d", IMAGE, kernel=(2, 2)) == {"cmp": 12, "select": 12}


def test_sum_executes_padding():
    attributes = {"kernel": (2, 2), "strides": (2, 2), "pads": (1, 1, 0, 0), "mean": 0}
    assert compute("sum_pool2d", (IMAGE,), [PICTURE], **attributes) == [[[[1, 5], [11, 28]]]]
    assert counted("sum_pool2d", IMAGE, **attributes) == {"addsub": 4 * 3}


def test_range_of_a_sum_knows_how_many_codes_a_window_holds():
    x = replace(IMAGE, range=Range.of(2, 9))
    (y,) = prove("sum_pool2d", x, kernel=(2, 2), strides=(2, 2), pads=(1, 1, 0, 0), mean=0).outputs
    assert (y.range, y.format) == (Range.of(2, 36), Format(6, False))


def test_mean_relabels_the_scale():
    (total,) = prove("sum_pool2d", IMAGE, kernel=(2, 2), mean=0).outputs
    (mean,) = prove("sum_pool2d", IMAGE, kernel=(2, 2), mean=1).outputs
    assert (total.scale, mean.scale) == (Scale.of(0), Scale.of(-2))
    assert (total.format, mean.format) == (Format(10), Format(10))


SIX = activation("x", (6, 5, 5), BYTE)


@pytest.mark.parametrize(
    ("op", "tensors", "attributes", "kind", "message"),
    [
        (
            "mf_conv2d",
            (SIX, weights(4, 3, 1, 1)),
            {"groups": 4},
            ShapeError,
            "`groups` of op `mf_conv2d` must divide 6 input and 4 output channels, not 4",
        ),
        (
            "conv2d",
            (SIX, weights(4, 3, 1, 1)),
            {"groups": 0},
            ShapeError,
            "`groups` of op `conv2d` must divide 6 input and 4 output channels, not 0",
        ),
        (
            "conv2d",
            (SIX, weights(4, 6, 1, 1)),
            {"groups": 2},
            ShapeError,
            "w of op `conv2d` must be [O, 3, rows, columns] for 6 channels in 2 groups, not (4, 6, 1, 1)",
        ),
        (
            "conv2d",
            (SIX, weights(4, 6)),
            {},
            ShapeError,
            "op `conv2d` takes x [batch, C, height, width] and w [O, C / groups, rows, columns], "
            "not (1, 6, 5, 5) and (4, 6)",
        ),
        (
            "mf_conv2d",
            (SIX, activation("w", (6, 1, 1), BYTE)),
            {},
            FormatError,
            "w of op `mf_conv2d` must be a constant",
        ),
        (
            "mf_conv2d",
            (SIX, replace(weights(1, 6, 1, 2), scale=Scale((0, 1), 3))),
            {},
            FormatError,
            "w of op `mf_conv2d` must have one scale, or one for each output channel, not one along axis 3",
        ),
        (
            "conv2d",
            (SIX, weights(1, 6, 3, 2)),
            {"dilations": (3, 1), "pads": (0, 0, 1, 0)},
            ShapeError,
            "a window of 7 x 2 must fit the padded plane of 6 x 5",
        ),
        (
            "conv2d",
            (SIX, weights(1, 6, 1, 1)),
            {"strides": (1, 0)},
            ShapeError,
            "`strides` of op `conv2d` must be 2 ints of at least 1, not (1, 0)",
        ),
        (
            "conv2d",
            (SIX, weights(1, 6, 1, 1)),
            {"pads": (1, 1)},
            ShapeError,
            "`pads` of op `conv2d` must be 4 ints of at least 0, not (1, 1)",
        ),
        (
            "mf_conv2d",
            (SIX, weights(2, 6, 1, 1), constant("b", np.ones(2, dtype=int), scale=Scale.of(1))),
            {},
            FormatError,
            "the bias must lie on the grid of its accumulator, 2^0, not 2^1",
        ),
        (
            "max_pool2d",
            (activation("x", (6, 5), BYTE),),
            {"kernel": (2, 2)},
            ShapeError,
            "x of op `max_pool2d` must be [batch, channels, height, width], not (1, 6, 5)",
        ),
        (
            "max_pool2d",
            (SIX,),
            {"kernel": (2, 2), "pads": (0, 0, 2, 0)},
            ShapeError,
            "every window of op `max_pool2d` must hold a code of x, but with `pads` (0, 0, 2, 0) one holds none",
        ),
        (
            "max_pool2d",
            (activation("x", (1, 2, 2), BYTE, Scale((0, 1), 2)),),
            {"kernel": (2, 2)},
            FormatError,
            "x of op `max_pool2d` must have one scale in each channel, not one along axis 2",
        ),
        (
            "sum_pool2d",
            (SIX,),
            {"kernel": (3, 2), "mean": 1},
            FormatError,
            "`mean` 1 of op `sum_pool2d` needs an area that is a power of two, not 6 = 3 x 2; "
            "choose another kernel, or take the sum with `mean` 0",
        ),
        ("sum_pool2d", (SIX,), {"kernel": (2, 2)}, FormatError, "op `sum_pool2d` needs the attribute `mean`"),
        ("sum_pool2d", (SIX,), {"mean": 0}, FormatError, "op `sum_pool2d` needs the attribute `kernel`"),
        (
            "sum_pool2d",
            (activation("x", (1, 2, 2), BYTE, Scale((0, 1), 3)),),
            {"kernel": (2, 2), "mean": 0},
            FormatError,
            "x of op `sum_pool2d` must have one scale in each channel, not one along axis 3",
        ),
    ],
)
def test_refused(op, tensors, attributes, kind, message):
    assert refusal(op, *tensors, **attributes) == (kind, message)
