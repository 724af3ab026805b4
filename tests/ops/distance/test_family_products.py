"""AdderNet, min-type and power-of-two products against hand-made values: definition, grids, words, counts, refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import FormatError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

BYTE = Format(8)


def one(op, x, w, **attributes):
    """Return the result for one x and one w, as a matrix product and as a convolution."""
    weights = constant("w", np.array([[w]]), BYTE)
    (line,) = compute(f"{op}_matmul", (activation("x", (1,), BYTE), weights), [[[x]]])
    window = constant("w", np.array([[[[w]]]]), BYTE)
    ((((found,),),),) = compute(f"{op}_conv2d", (activation("x", (1, 1, 1), BYTE), window), [[[[[x]]]]])
    assert line == [found]
    return found


@pytest.mark.parametrize(("x", "w"), [(3, 5), (-3, 5), (3, -5), (-3, -5), (0, 5), (5, 0), (0, 0), (7, 7), (-128, 127)])
def test_definitions(x, w):
    assert one("adder", x, w) == -abs(x - w)
    assert one("min", x, w) == min(abs(x), abs(w)) * ((x > 0) - (x < 0)) * ((w > 0) - (w < 0))


def test_a_minimum_is_half_the_difference_of_two_distances():
    # |x + w| - |x - w| = 2 sign(x w) min(|x|, |w|)
    for x, w in itertools.product((-7, -2, 0, 1, 5), repeat=2):
        assert 2 * one("min", x, w) == one("adder", x, w) - one("adder", x, -w)


def test_operands_meet_on_the_finer_grid():
    # 3 * 2^-1 and 5 * 2^-3 are 12 and 5 eighths.
    x = activation("x", (1,), BYTE, Scale.of(-1))
    w = constant("w", np.array([[5]]), BYTE, Scale.of(-3))
    for op, result in (("adder_matmul", -7), ("min_matmul", 5)):
        inference = prove(op, x, w)
        assert inference.outputs[0].scale == Scale.of(-3)
        assert inference.words["aligned_x"] == Format(10)
        assert "aligned_w" not in inference.words
        assert compute(op, (x, w), [[[3]]]) == [[result]]


def test_padding_is_a_code_before_the_operator():
    x = activation("x", (1, 1, 1), BYTE)
    w = constant("w", np.array([[[[-4, 6]]]]), BYTE)
    assert compute("adder_conv2d", (x, w), [[[[[9]]]]], pads=(0, 1, 0, 0)) == [[[[-4 - 3]]]]
    assert compute("min_conv2d", (x, w), [[[[[9]]]]], pads=(0, 1, 0, 0)) == [[[[6]]]]


def test_the_nearest_pair_may_lie_between_the_places_of_the_coarser_grid():
    # x is a multiple of 4 in -8..12 on w's grid; 5 and 6 are at least 1 and 2 away from one.
    x = replace(activation("x", (1,), Format(4), Scale.of(2)), range=Range.of(-2, 3))
    for w, nearest in ((5, -1), (6, -2), (8, 0), (30, -18)):
        weights = constant("w", np.array([[w]]))
        assert prove("adder_matmul", x, weights).outputs[0].range.high == nearest


def test_words_of_192_bytes():
    # A distance of two bytes needs 8 bits unsigned; 192 of them at most 192 * 255 = 48960: 17 bits with a sign.
    x, w = activation("x", (1, 192), BYTE), activation("w", (192, 1), BYTE)
    adder, least = prove("adder_matmul", x, w), prove("min_matmul", x, w)
    assert (adder.words["difference"], adder.words["distance"]) == (Format(9), Format(8, False))
    assert adder.outputs[0].range == Range.of(-192 * 255, 0)
    assert least.outputs[0].range == Range.of(-192 * 127, 192 * 128)


def test_counts_of_five_terms():
    x = activation("x", (5,), BYTE, Scale.of(-1))
    w = constant("w", np.ones((5, 2), dtype=int), BYTE, Scale.of(-3))
    bias = constant("b", np.array([1, 2]), scale=Scale.of(-3))
    assert counted("adder_matmul", x, w, bias) == {"addsub": 2 * 10, "abs": 10, "shift": 5}
    assert counted("adder_matmul", x, w) == {"addsub": 2 * 9, "abs": 10, "neg": 2, "shift": 5} | {"addsub": 10 + 8}
    assert counted("min_matmul", x, w, bias) == {"addsub": 10, "abs": 5, "neg": 10, "cmp": 10, "select": 10, "shift": 5}
    assert counted("min_matmul", x, w, offline=True) == {"abs": 10}
    powers = constant("w", np.array([[4, 0], [1, -2], [0, 8], [2, 2], [-1, 1]]), BYTE)
    assert counted("shift_matmul", x, powers) == {"shift": 10, "addsub": 8, "neg": 2}


def test_power_of_two_weights_are_shifts():
    x = activation("x", (3,), BYTE)
    w = constant("w", np.array([[4, 0], [-8, 1], [1, -2]]), BYTE)
    assert compute("shift_matmul", (x, w), [[[3, -5, 7]]]) == [[12 + 40 + 7, -5 - 14]]
    assert prove("shift_matmul", x, w).words["shifted"] == Format(11)


@pytest.mark.parametrize(
    ("op", "tensors", "message"),
    [
        (
            "shift_matmul",
            (activation("x", (1,), BYTE), constant("w", np.array([[6]]))),
            "every weight of op `shift_matmul` must be 0 or a power of two with a sign, not 6",
        ),
        (
            "shift_matmul",
            (activation("x", (1, 1), BYTE), activation("w", (1, 1), BYTE)),
            "w of op `shift_matmul` must be a constant",
        ),
        (
            "adder_matmul",
            (activation("x", (1,), BYTE), constant("w", np.array([[1, 2]]), scale=Scale((-1, -2), 1))),
            "x and w of op `adder_matmul` must have one scale each, because they meet on one grid",
        ),
        (
            "min_matmul",
            (
                activation("x", (1,), BYTE),
                constant("w", np.array([[1]])),
                constant("b", np.array([1]), scale=Scale.of(-1)),
            ),
            "the bias must lie on the grid of its accumulator, 2^0, not 2^-1",
        ),
    ],
)
def test_refusals(op, tensors, message):
    assert refusal(op, *tensors) == (FormatError, message)


@pytest.mark.parametrize("op", ["adder_matmul", "min_matmul"])
def test_shifts_that_do_not_suit_the_scales_are_refused(op):
    tensors = activation("x", (1,), BYTE, Scale.of(-1)), constant("w", np.array([[1]]))
    message = f"`shift_x` of op `{op}` must be 0 for the scales of its operands, not 2"
    assert refusal(op, *tensors, shift_x=2, shift_w=1) == (FormatError, message)
