"""MF products against hand-made values: definition, grids, words, counts, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import FormatError, RangeError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ops.op import activation, constant
from tests.ops.proving import compute, counted, prove, refusal

BYTE = Format(8)


def pair(exponent_x=0, exponent_w=0):
    return activation("x", (1,), BYTE, Scale.of(exponent_x)), activation("w", (1,), BYTE, Scale.of(exponent_w))


@pytest.mark.parametrize(
    ("form", "zero", "x", "w", "y"),
    [
        ("abs", 0, -2, -3, -5),
        ("ef", 0, -2, -3, 5),
        ("abs", 0, -2, 3, 2 - 3),
        ("ef", 0, -2, 3, -5),
        ("ef", 0, 2, 3, 5),
        ("abs", 0, 2, 3, 5),
        ("ef", 0, 0, -7, 0),
        ("abs", 0, 0, -7, 0),
        ("ef", 1, 0, -7, -7),
        ("abs", 1, 0, -7, 7),
        ("ef", 0, -128, -128, 256),
        ("abs", 0, -128, -128, -256),
    ],
)
def test_definition(form, zero, x, w, y):
    assert compute("mf_mul", pair(), [[[x]], [[w]]], form=form, sign_zero=zero) == [[y]]
    weights = constant("w", np.array([[w]]), BYTE)
    assert compute("mf_matmul", (pair()[0], weights), [[[x]]], form=form, sign_zero=zero) == [[y]]
    window = constant("w", np.array([[[[w]]]]), BYTE)
    image = activation("x", (1, 1, 1), BYTE)
    assert compute("mf_conv2d", (image, window), [[[[[x]]]]], form=form, sign_zero=zero) == [[[[y]]]]


def test_parts_meet_on_the_finer_grid():
    # 3 * 2^-1 and 5 * 2^-3: 12 and 5 eighths; on w's grid the bias of 100 eighths joins them.
    x = activation("x", (1,), BYTE, Scale.of(-1))
    w = constant("w", np.array([[5]]), BYTE, Scale.of(-3))
    bias = constant("b", np.array([100]), scale=Scale.of(-3))
    inference = prove("mf_matmul", x, w, bias)
    assert inference.outputs[0].scale == Scale.of(-3)
    assert compute("mf_matmul", (x, w, bias), [[[3]]]) == [[117]]
    assert compute("mf_matmul", (x, w, bias), [[[3]]], grid="aligned") == [[117]]


def test_scales_by_output_shift_each_output_alone():
    x = activation("x", (1,), BYTE, Scale.of(-2))
    w = constant("w", np.array([[3, 3, 3]]), BYTE, Scale((-2, -3, 0), 1))
    assert prove("mf_matmul", x, w).outputs[0].scale == Scale((-2, -3, -2), 1)
    assert compute("mf_matmul", (x, w), [[[1]]]) == [[1 + 3, 2 * 1 + 3, 1 + 4 * 3]]


def test_padding_is_a_code_before_the_operator():
    x = activation("x", (1, 1, 1), BYTE)
    w = constant("w", np.array([[[[-4, 6]]]]), BYTE)
    assert compute("mf_conv2d", (x, w), [[[[[0]]]]], pads=(0, 1, 0, 0), sign_zero=0) == [[[[0]]]]
    assert compute("mf_conv2d", (x, w), [[[[[0]]]]], pads=(0, 1, 0, 0), sign_zero=1) == [[[[2]]]]
    assert compute("mf_conv2d", (x, w), [[[[[9]]]]], pads=(0, 1, 0, 0), sign_zero=1, form="abs") == [[[[4 + 15]]]]


def sum_of_bytes(length, op, **attributes):
    return prove(op, activation("x", (1, length), BYTE), activation("w", (length, 1), BYTE), **attributes)


def test_words_of_192_bytes():
    # 192 products of at most 2^14 need 23 bits (the closed form 8 + 8 + ceil(log2 192) = 24 is met at 256),
    # 192 MF terms of at most 2^8 need 8 + 1 + ceil(log2 192) = 17.
    assert sum_of_bytes(192, "matmul").words["acc"] == Format(23)
    assert sum_of_bytes(256, "matmul").words["acc"] == Format(24)
    assert sum_of_bytes(192, "mf_matmul", grid="shared").words == {"acc": Format(17)}
    assert sum_of_bytes(192, "mf_matmul", grid="shared", form="abs").words == {"acc": Format(17)}
    assert sum_of_bytes(192, "mf_matmul").words == {"acc_x": Format(16), "acc_w": Format(16)}


@pytest.mark.parametrize("grid", ["shared", "aligned"])
def test_one_accumulator_holds_each_part_of_a_term(grid):
    # x in 4..7 and w = -5: |x| and |w| have opposite signs in the form abs. The sum is in -2..1, but the
    # device adds -|x| and +|w| one after the other.
    x = replace(activation("x", (1,), Format(4)), range=Range.of(4, 7))
    proved = prove("mf_matmul", x, constant("w", np.array([[-5]])), grid=grid, form="abs")
    assert (proved.outputs[0].range.low, proved.outputs[0].range.high) == (-2, 1)
    assert proved.words == {"acc": Format.of_range(-7, 5)}


def test_bias_widens_only_the_accumulator_that_it_starts():
    x = activation("x", (1,), Format(4), Scale.of(-2))
    w = constant("w", np.array([[3, 3]]), Format(4), Scale((-2, -5), 1))
    assert prove("mf_matmul", x, w).words == {"acc_x": Format(4), "acc_w": Format(3)}
    for codes, words in (([1000, 0], (11, 3)), ([0, 1000], (4, 11))):
        bias = constant("b", np.array(codes), scale=Scale((-2, -5), 0))
        assert prove("mf_matmul", x, w, bias).words == {"acc_x": Format(words[0]), "acc_w": Format(words[1])}


def test_dynamic_weights_are_bounded_by_term_and_by_output():
    x = activation("x", (1, 2), Format(2, False))
    w = activation("w", (2, 2), Format(4))
    by_term = prove("matmul", x, replace(w, range=Range((-1, 0), (2, 7), 1)))
    by_output = prove("matmul", x, replace(w, range=Range((-1, 0), (2, 7), 2)))
    assert by_term.outputs[0].range == Range.of(-3, 27)
    assert by_output.outputs[0].range == Range((-6, 0), (12, 42), 2)


@pytest.mark.parametrize("length", [1, 5, 192])
def test_operations_of_one_output(length):
    x = activation("x", (length,), BYTE, Scale.of(-7))
    w = constant("w", np.ones((length, 1), dtype=int), BYTE, Scale.of(-9))
    bias = constant("b", np.array([1]), scale=Scale.of(-9))
    assert counted("mf_matmul", x, w, bias) == {"sign": length, "addsub": 2 * length, "neg": 1, "shift": 1}
    assert counted("mf_matmul", x, w) == {"sign": length, "addsub": 2 * length - 1, "neg": 2, "shift": 1}
    assert counted("mf_matmul", x, w, form="abs", offline=True) == {"sign": length, "abs": length}
    assert counted("matmul", x, w) == {"mul": length} | ({"addsub": length - 1} if length > 1 else {})


def test_one_accumulator_needs_no_join():
    x, w = activation("x", (5,), BYTE), constant("w", np.ones((5, 1), dtype=int), BYTE)
    bias = constant("b", np.array([1]))
    assert counted("mf_matmul", x, w, bias, grid="shared") == {"sign": 5, "addsub": 10}
    assert counted("mf_matmul", x, w, grid="shared") == {"sign": 5, "addsub": 9, "neg": 1}


def test_convolution_prepares_each_code_once():
    x = activation("x", (2, 4, 4), BYTE)
    w = constant("w", np.ones((3, 2, 3, 3), dtype=int), BYTE)
    bias = constant("b", np.ones(3, dtype=int))
    operations = counted("mf_conv2d", x, w, bias, pads=(1, 1, 1, 1), form="abs")
    outputs, length = 3 * 4 * 4, 2 * 3 * 3
    assert operations == {"sign": 32, "abs": 32, "addsub": 2 * length * outputs, "neg": outputs}
    assert counted("conv2d", x, w, bias, pads=(1, 1, 1, 1)) == {"mul": length * outputs, "addsub": length * outputs}


X = activation("x", (3,), BYTE, Scale.of(-7))
W = constant("w", np.ones((3, 2), dtype=int), BYTE, Scale.of(-9))


@pytest.mark.parametrize(
    ("tensors", "attributes", "kind", "message"),
    [
        (
            (X, W),
            {"grid": "shared"},
            FormatError,
            "`grid` shared needs x and w on one scale, not 2^-7 and 2^-9; use split",
        ),
        (
            (X, constant("w", W.codes, BYTE, Scale((-7, -9), 1))),
            {"grid": "aligned"},
            FormatError,
            "`grid` aligned needs one scale for all of w; use split",
        ),
        (
            (X, W),
            {"shift_x": (1,)},
            FormatError,
            "`shift_x` must be (2,) for the scales 2^-7 and 2^-9, not (1,)",
        ),
        (
            (X, W),
            {"shift_w": (0, 0)},
            FormatError,
            "`shift_w` must be (0,) for the scales 2^-7 and 2^-9, not (0, 0)",
        ),
        (
            (X, W, constant("b", np.ones(2, dtype=int), scale=Scale.of(-7))),
            {},
            FormatError,
            "the bias must lie on the grid of its accumulator, 2^-9, not 2^-7",
        ),
        (
            (X, W, constant("b", np.ones(3, dtype=int), scale=Scale.of(-9))),
            {},
            FormatError,
            "the bias must have the shape (2,), not (3,)",
        ),
        (
            (X, W, activation("b", (2,), BYTE, Scale.of(-9))),
            {},
            FormatError,
            "only constant weights take a bias, and it must be constant",
        ),
        (
            (X, constant("w", W.codes, BYTE, Scale((-7, -8, -9), 0))),
            {},
            FormatError,
            "w must have one scale, or for constant weights one for each output",
        ),
        (
            (activation("x", (3,), BYTE, Scale((-1, -2, -3), 1)), W),
            {},
            FormatError,
            "one scale for the whole tensor is needed here, not one for each channel; requantize first",
        ),
        (
            (activation("x", (4,), BYTE), W),
            {},
            ShapeError,
            "x (1, 4) must end in K and constant weights must be [K, O], not (3, 2)",
        ),
        (
            (activation("x", (2, 3), BYTE), activation("w", (4, 5), BYTE)),
            {},
            ShapeError,
            "x [..., M, K] and a dynamic w [..., K, O] must share all but the last axes, not (1, 2, 3) and (1, 4, 5)",
        ),
        (
            (activation("x", (0,), BYTE), constant("w", np.ones((0, 2), dtype=int), BYTE)),
            {},
            ShapeError,
            "a matrix product must have at least one term and one output, not w of shape (0, 2)",
        ),
        (
            (activation("x", (1,), BYTE, Scale.of(60)), constant("w", np.array([[1]]), Format(2))),
            {},
            RangeError,
            # -(2^7 * 2^60) - 1 and (2^7 - 1) * 2^60 + 1
            "the result of mf_matmul needs 69 bits for -147573952589676412929..146421031085069565953, "
            "and at most 63 bits are possible",
        ),
        (
            (X, W),
            {"form": "abss"},
            FormatError,
            "`form` of op `mf_matmul` must be one of ef, abs, not 'abss'; did you mean `abs`?",
        ),
    ],
)
def test_refused_matrix_product(tensors, attributes, kind, message):
    assert refusal("mf_matmul", *tensors, **attributes) == (kind, message)


def test_refused_element_wise_product():
    assert refusal("mf_mul", activation("x", (2, 3), BYTE), activation("w", (3,), BYTE)) == (
        ShapeError,
        "x and a dynamic w must have one shape, not (1, 2, 3) and (1, 3)",
    )
    for shape in ((2,), (2, 2, 3), (4, 3)):
        assert refusal("mf_mul", activation("x", (2, 3), BYTE), constant("w", np.ones(shape, dtype=int))) == (
            ShapeError,
            f"a constant w must broadcast to one sample (2, 3) of x, not have the shape {shape}",
        )
