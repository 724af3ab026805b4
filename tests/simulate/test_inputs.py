"""What a program is fed with: codes are checked, real values are quantized; errors are whole sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mfsim.errors import DataError, ShapeError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Program, Tensor
from mfsim.simulate import accuracy, dequantized, quantize_input, simulate
from tests.bits import assert_bit_equal


def one(rounding=None, range_=None) -> Program:
    builder = ProgramBuilder()
    word = Format(4)
    builder.input_tensor(Tensor("x", (1, 3), word, Scale.of(-1), range_ or Range.of(word.lo, word.hi)))
    metadata = {"input.x.rounding": rounding} if rounding else {}
    return builder.finish([builder.node("neg", ["x"], outputs=["y"])], metadata)


def two() -> Program:
    builder = ProgramBuilder()
    builder.input("left", (3,), Format(4))
    builder.input("right", (3,), Format(4))
    return builder.finish([builder.node("add", ["left", "right"], outputs=["sum"])])


ZERO = np.zeros((2, 3), np.int64)


@pytest.mark.parametrize(
    ("program", "inputs", "options", "error", "text"),
    [
        (one(), np.zeros((2, 4), int), {}, ShapeError, "the input `x` must have the shape (batch, 3), not (2, 4)"),
        (one(), np.zeros(3, int), {}, ShapeError, "the input `x` must have the shape (batch, 3), not (3,)"),
        (one(), np.int64(3), {}, ShapeError, "the input `x` must have the shape (batch, 3), not ()"),
        (
            one(),
            ZERO.astype(object),
            {},
            DataError,
            "the input `x` must be floating-point values or integer codes, not object",
        ),
        (
            one(),
            ZERO[:0] * 1j,
            {},
            DataError,
            "the input `x` must be floating-point values or integer codes, not complex128",
        ),
        (
            one("none"),
            ZERO[:0] / 2,
            {},
            DataError,
            "the input `x` must be integers, which number rows, not float64",
        ),
        (
            one(),
            ZERO > 0,
            {},
            DataError,
            "the input `x` must be floating-point values or integer codes, not bool",
        ),
        (one(), ZERO + 8, {}, DataError, "the codes of input `x` must be in -8..7, of its word s4, and reach 8..8"),
        (one(), ZERO - 9, {}, DataError, "the codes of input `x` must be in -8..7, of its word s4, and reach -9..-9"),
        (
            one(range_=Range.of(-7, 7)),
            ZERO - 8,
            {},
            DataError,
            "the codes of input `x` must be in -7..7, of its word s4, and reach -8..-8",
        ),
        (
            one(range_=Range((-8, 0, -8), (7, 7, 7), 1)),
            ZERO - 1,
            {},
            DataError,
            "the codes of input `x` must be in 0..7, of its word s4, and reach -1..-1",
        ),
        (
            one(),
            np.full((2, 3), 2**64 - 1, np.uint64),
            {},
            DataError,
            "the codes of input `x` must be in -8..7, of its word s4, and reach 18446744073709551615..18446744073709551615",
        ),
        (one(), {"y": ZERO}, {}, DataError, "the program has no input `y`; it has `x`"),
        (
            two(),
            {"lefd": ZERO},
            {},
            DataError,
            "the program has no input `lefd`; did you mean `left`?; it has `left`, `right`",
        ),
        (two(), {"left": ZERO}, {}, DataError, "the input `right` is missing"),
        (two(), ZERO, {}, DataError, "this program has 2 inputs, `left`, `right`; give a dict of them"),
        (
            two(),
            {"left": ZERO, "right": ZERO[:1]},
            {},
            DataError,
            "all inputs must have one batch size, not 2 in `left`, 1 in `right`",
        ),
        (one(), ZERO, {"batch_size": 0}, DataError, "`batch_size` must be an integer of at least 1, not 0"),
        (one(), ZERO, {"batch_size": 2.0}, DataError, "`batch_size` must be an integer of at least 1, not 2.0"),
        (one(), ZERO, {"threads": -1}, DataError, "`threads` must be an integer of at least 1, not -1"),
        (one(), ZERO, {"threads": True}, DataError, "`threads` must be an integer of at least 1, not True"),
        (
            two(),
            {"left": ZERO, "right": ZERO},
            {"keep": ["summ"]},
            DataError,
            "the program has no activation `summ`; did you mean `sum`?",
        ),
    ],
)
def test_errors(program, inputs, options, error, text):
    with pytest.raises(error) as caught:
        simulate(program, inputs, **options)
    assert type(caught.value) is error
    assert str(caught.value) == text


@pytest.mark.parametrize("word", [np.float16, np.float32, np.float64])
def test_quantize_input_rounds_half_even_and_saturates(word):
    values = np.array([[0.25, 0.75, -0.25], [-0.75, 3.75, 100], [-4.25, -100, 0.26]], dtype=word)
    assert_bit_equal(quantize_input(one(), values), np.array([[0, 2, 0], [-2, 7, 7], [-8, -8, 1]]))


def test_quantize_input_uses_the_rounding_of_the_file():
    values = np.array([[0.25, 0.75, -0.2]])
    assert_bit_equal(quantize_input(one("floor"), values), np.array([[0, 1, -1]]))


def test_quantize_input_leaves_out_the_code_that_a_narrow_quantizer_leaves_out():
    assert_bit_equal(quantize_input(one(range_=Range.of(-7, 7)), np.full((1, 3), -9.0)), np.full((1, 3), -7))


def test_quantize_input_of_several_inputs():
    made = quantize_input(two(), {"right": np.ones((1, 3)), "left": np.zeros((1, 3))})
    assert list(made) == ["left", "right"]
    assert_bit_equal(made["right"], np.ones((1, 3), np.int64))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([[0, 0, 0], [0, np.nan, 0]]), "sample 1 of input `x` holds NaN"),
        (np.array([[0, -np.inf, 0]]), "sample 0 of input `x` holds infinity"),
        (ZERO, "the input `x` must be floating-point values, not int64"),
    ],
)
def test_quantize_input_errors(values, text):
    with pytest.raises(DataError) as caught:
        quantize_input(one(), values)
    assert str(caught.value) == text


def test_dequantized():
    builder = ProgramBuilder()
    builder.input_tensor(Tensor("x", (1, 2, 2), Format(4), Scale((-1, 3), 1), Range.of(-8, 7)))
    program = builder.finish([builder.node("neg", ["x"], outputs=["y"])])
    made = dequantized(program, {"y": np.array([[[1, 2], [-3, 4]]]), "x": np.array([[[0, 1], [1, 0]]])})
    assert made["y"].tolist() == [[[0.5, 1.0], [-24.0, 32.0]]]
    assert made["x"].tolist() == [[[0.0, 0.5], [8.0, 0.0]]]
    with pytest.raises(DataError) as caught:
        dequantized(program, {"z": np.zeros((1, 2, 2), int)})
    assert str(caught.value) == "the program has no tensor `z`"


def classifier(exponents=(0, 0, 0)) -> Program:
    builder = ProgramBuilder()
    scale = Scale(exponents, 1)
    builder.input_tensor(Tensor("x", (1, 3), Format(4), Scale.of(0), Range.of(-8, 7)))
    name = builder.node("shift", ["x"], {"exponents": exponents, "axis": 1}, outputs=["logits"])
    program = builder.finish([name])
    assert program.tensors["logits"].scale == scale
    return program


def test_accuracy():
    images = np.array([[1, 2, 3], [3, 2, 1], [0, 5, 0], [4, 4, 0]], dtype=np.float32)
    assert accuracy(classifier(), images, np.array([2, 0, 0, 0])) == 0.75
    assert accuracy(classifier(), images, np.array([2, 0, 1, 1]), batch_size=1, threads=2) == 0.75


def test_accuracy_compares_logits_of_unequal_scales_by_their_values():
    images = np.array([[1, 2, 3], [3, 2, 1]], dtype=np.float32)
    assert accuracy(classifier((2, 0, 0)), images, np.array([0, 0])) == 1.0
    assert accuracy(classifier((0, 3, 1)), images, np.array([1, 1])) == 1.0


def test_accuracy_errors():
    with pytest.raises(DataError) as caught:
        accuracy(classifier(), np.zeros((2, 3)), np.zeros(3, int))
    assert str(caught.value) == "there must be one label for each of at least one image, not (3,) for 2 images"
    with pytest.raises(DataError) as caught:
        accuracy(two(), np.zeros((2, 3)), np.zeros(2, int))
    assert str(caught.value) == "accuracy needs a program of one input and one output [batch, classes]"


def test_only_output():
    result = simulate(two(), {"left": ZERO, "right": ZERO})
    assert_bit_equal(result.output, ZERO)
    builder = ProgramBuilder()
    builder.input("x", (3,), Format(4))
    both = simulate(builder.finish(["x", builder.node("neg", ["x"], outputs=["y"])]), ZERO)
    with pytest.raises(DataError) as caught:
        _ = both.output
    assert str(caught.value) == "the program has the outputs x, y; choose one of `outputs`"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.where(np.arange(27).reshape(9, 3) == 22, np.nan, 0.0), "sample 7 of input `x` holds NaN"),
        (np.where(np.arange(27).reshape(9, 3) == 25, np.inf, 0.0), "sample 8 of input `x` holds infinity"),
    ],
)
def test_errors_in_real_inputs_name_the_sample_of_all(values, text):
    for threads in (1, 2):
        with pytest.raises(DataError) as caught:
            simulate(one(), values, batch_size=2, threads=threads)
        assert str(caught.value) == text


def test_a_dict_of_real_values_and_codes_is_decided_input_by_input():
    program = two()
    program = replace(program, metadata={"input.left.rounding": "floor", "input.right.rounding": "none"})
    real, codes = np.array([[1.75, -0.5, 99.0], [0.25, 2.5, -99.0]]), np.array([[1, -2, 0], [7, 0, -8]])
    expected = np.array([[2, -3, 7], [7, 2, -16]])
    for word in (np.float16, np.float32, np.float64):
        for kind in (np.int8, np.int64):
            inputs = {"left": real.astype(word), "right": codes.astype(kind)}
            for threads in (1, 2):
                assert_bit_equal(simulate(program, inputs, batch_size=1, threads=threads).output, expected)
    with pytest.raises(DataError) as caught:
        simulate(program, {"left": codes, "right": real})
    assert str(caught.value) == "the input `right` must be integers, which number rows, not float64"
    with pytest.raises(DataError) as caught:
        simulate(program, {"left": real, "right": codes + 1}, batch_size=1)
    assert str(caught.value) == "the codes of input `right` must be in -8..7, of its word s4, and reach -7..8"


def test_unsigned_integers_are_codes_too():
    assert_bit_equal(simulate(one(), np.array([[1, 2, 3]], np.uint8)).output, np.array([[-1, -2, -3]]))


def test_real_inputs_of_programs_that_do_not_round():
    bipolar = one("bipolar")
    values = np.array([[-0.5, 0.0, 3.0]] * 5)
    expected = simulate(bipolar, quantize_input(bipolar, values)).output
    assert_bit_equal(simulate(bipolar, values, batch_size=2).output, expected)
    narrow = one(range_=Range.of(-2, 1))
    codes = quantize_input(narrow, np.array([[-9.0, 0.25, 9.0]]))
    assert_bit_equal(codes, np.array([[-2, 0, 1]]))
    assert_bit_equal(simulate(narrow, np.array([[-9.0, 0.25, 9.0]])).output, -codes)


def test_real_inputs_stay_in_the_ranges_of_their_channels():
    program = one(range_=Range((-8, 0, -8), (7, 7, 7), 1))
    values = np.zeros((9, 3))
    values[1, 1], values[7, 1] = -1.5, -4.0
    text = "the codes of input `x` must be in 0..7, of its word s4, and reach -8..0"
    for threads in (1, 2):
        with pytest.raises(DataError) as caught:
            simulate(program, values, batch_size=2, threads=threads)
        assert str(caught.value) == text
    assert_bit_equal(simulate(program, -values).output[:, 1], np.array([0, -3, 0, 0, 0, 0, 0, -7, 0]))
