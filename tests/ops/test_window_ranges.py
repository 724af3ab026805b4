"""Ranges and inner words of convolutions, position by position: against every input of small planes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mfsim import ops
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.bounds import mf_parts
from mfsim.ops.op import activation, constant, objects
from mfsim.ops.windows import window_terms
from tests.ops.proving import prove

W = np.array([[[[3, -2, 4], [-1, 5, -3]]], [[[-4, 2, 1], [3, 1, -5]]]])
GEOMETRIES = {
    "every window meets padding": ((2, 2), {"pads": (1, 1, 1, 1)}),
    "some windows do": ((2, 3), {"pads": (0, 1, 0, 0)}),
    "strides": ((1, 4), {"pads": (1, 1, 0, 1), "strides": (1, 3)}),
    "dilations": ((2, 2), {"pads": (1, 2, 1, 2), "dilations": (2, 2)}),
    "one window": ((1, 2), {"pads": (1, 1, 0, 0)}),
    "padding alone": ((1, 1), {"pads": (2, 3, 0, 0)}),
    "nowhere": ((2, 3), {}),
}
RANGES = [Range.of(2, 4), Range.of(-2, -1), Range.of(-1, 2)]


def every_input(shape, range_):
    codes = range(range_.low, range_.high + 1)
    return np.array(list(itertools.product(codes, repeat=shape[0] * shape[1]))).reshape(-1, 1, *shape)


def ends(terms, start=0):
    """Return the least and greatest of all partial sums of terms [terms, ...], in any order."""
    least = np.minimum(terms, 0).sum(axis=0) + np.minimum(start, 0)
    greatest = np.maximum(terms, 0).sum(axis=0) + np.maximum(start, 0)
    return int(least.min()), int(greatest.max())


def terms_of(x, w, attributes):
    """Return the operands of all terms, each [terms, batch, outputs, rows, columns]."""
    pairs = [np.broadcast_arrays(a, b) for a, b in window_terms(objects(x), objects(w), attributes)]
    return (np.array(operands, dtype=np.int64) for operands in zip(*pairs, strict=True))


def proved(op, geometry, range_, w=W, bias=None, **more):
    """Return what is proved, the codes of every input, and x and w of every term."""
    shape, attributes = GEOMETRIES[geometry]
    x = replace(activation("x", (1, *shape), Format(4)), range=range_)
    given = (x, constant("w", w)) if bias is None else (x, constant("w", w), constant("b", bias))
    complete = ops.get(op).derived(given, {**attributes, **more})
    codes = every_input(shape, range_)
    dynamic = [objects(codes), *(objects(t.codes) for t in given[1:])]
    (y,) = ops.get(op).reference(dynamic, complete)
    inference = prove(op, *given, **attributes, **more)
    return inference, y.astype(np.int64), terms_of(codes, w, complete)


def check_output(inference, y):
    (tensor,) = inference.outputs
    assert tensor.range == Range(tuple(y.min(axis=(0, 2, 3)).tolist()), tuple(y.max(axis=(0, 2, 3)).tolist()), 1)
    assert inference.tight


@pytest.mark.parametrize("range_", RANGES, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("form", "zero"), [("ef", 0), ("ef", 1), ("abs", 0), ("abs", 1)])
def test_mf_words_hold_what_some_position_reaches(form, zero, geometry, range_):
    bias = np.array([7, -9])
    for grid in ("split", "shared"):
        inference, y, (x, w) = proved("mf_conv2d", geometry, range_, bias=bias, form=form, sign_zero=zero, grid=grid)
        check_output(inference, y)
        a, b = mf_parts(x, w, form, zero)
        start = bias[:, None, None]
        if grid == "split":
            expected = {"acc_x": Format.of_range(*ends(a, start)), "acc_w": Format.of_range(*ends(b))}
        else:
            expected = {"acc": Format.of_range(*ends(np.concatenate([a, b]), start))}
        assert inference.words == expected


@pytest.mark.parametrize("range_", RANGES, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_dense_words_hold_what_some_position_reaches(geometry, range_):
    inference, y, (x, w) = proved("conv2d", geometry, range_)
    check_output(inference, y)
    products = x * w
    expected = {
        "product": Format.of_range(int(products.min()), int(products.max())),
        "acc": Format.of_range(*ends(products)),
    }
    assert inference.words == expected
    powers = np.sign(W) * 2 ** (abs(W) // 2)
    inference, y, (x, w) = proved("shift_conv2d", geometry, range_, powers, np.array([-5, 5]))
    check_output(inference, y)
    assert inference.words["acc"] == Format.of_range(*ends(x * w, np.array([-5, 5])[:, None, None]))


@pytest.mark.parametrize("range_", RANGES, ids=str)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_words_of_products_on_one_grid_hold_what_some_position_reaches(geometry, range_):
    inference, y, (x, w) = proved("adder_conv2d", geometry, range_)
    check_output(inference, y)
    assert inference.words["acc"] == Format.of_range(*ends(-abs(x - w)))
    inference, y, (x, w) = proved("min_conv2d", geometry, range_)
    check_output(inference, y)
    assert inference.words["acc"] == Format.of_range(*ends(np.sign(x) * np.sign(w) * np.minimum(abs(x), abs(w))))


def test_a_word_is_as_wide_as_four_taps_need_where_no_window_holds_more():
    # conv3 of mf-cnn on digits: a plane of 2 x 2 codes, where each window of 3 x 3 taps holds 4
    rng = np.random.default_rng(0)
    x = activation("x", (32, 2, 2), Format(8, False), Scale.of(-1))
    w = constant("w", rng.integers(-127, 128, (32, 32, 3, 3)), Format(8), Scale.of(-7))
    inference = prove("mf_conv2d", x, w, pads=(1, 1, 1, 1))
    lows, highs, parts = [], [], []
    for row, column in itertools.product((0, 1), repeat=2):
        met = w.codes[:, :, 1 - row : 3 - row, 1 - column : 3 - column].reshape(32, -1)
        x_part = [(255 * (met < 0)).sum(axis=1), (255 * (met > 0)).sum(axis=1)]
        w_part = [-np.minimum(met, 0).sum(axis=1), np.maximum(met, 0).sum(axis=1)]
        lows.append(-64 * x_part[0] - w_part[0])
        highs.append(64 * x_part[1] + w_part[1])
        parts.append((max(map(np.max, x_part)), max(map(np.max, w_part))))
    (y,) = inference.outputs
    low, high = (end(ends_, axis=0) for end, ends_ in ((np.min, lows), (np.max, highs)))
    assert y.range == Range(tuple(low.tolist()), tuple(high.tolist()), 1)
    assert y.format == Format.of_range(int(low.min()), int(high.max())) == Format(22)
    acc_x, acc_w = (Format.of_range(-int(largest), int(largest)) for largest in np.max(parts, axis=0))
    assert inference.words == {"acc_x": acc_x, "acc_w": acc_w}
    whole = prove("mf_conv2d", replace(x, shape=(1, 32, 4, 4)), w, pads=(1, 1, 1, 1))
    assert whole.outputs[0].format == Format(23)
