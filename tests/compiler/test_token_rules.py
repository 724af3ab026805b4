"""Rules that token networks need: parts of a tensor by constant indices, and products of two activations."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import FormatError, LostScaleError, ShapeError, UnsupportedOpError
from tests.compiler.files import File, assert_like_runtime, images


def gathered(indices, axis=1, shape=(5, 4)):
    file = File(x=shape)
    places = file.constant(indices, dtype=np.int64)
    return file.model(file.node("Gather", file.quant("x"), places, axis=axis, name="n"))


@pytest.mark.parametrize(
    ("indices", "axis", "ops"),
    [
        (0, 1, ["slice", "reshape"]),
        (-1, 2, ["slice", "reshape"]),
        ([2], 1, ["slice", "reshape"]),
        ([0, 1, 2, 3, 4], 1, ["reshape"]),
        ([4, 2, 0], 1, ["slice", "reshape"]),
        ([1, 1], -2, ["slice", "slice", "concat", "reshape"]),
        ([0, 2, 4, 3, 1], 1, ["slice", "slice", "concat", "reshape"]),
    ],
)
def test_gather_of_constant_indices(indices, axis, ops):
    program = assert_like_runtime(gathered(indices, axis), images((5, 4)))
    assert [node.op for node in program.nodes] == ops


@pytest.mark.parametrize(
    ("model", "kind", "sentence"),
    [
        (
            gathered([[0]]),
            UnsupportedOpError,
            "the indices must be one int or one row of ints, not of the shape (1, 1)",
        ),
        (gathered([5]), ShapeError, "the indices must be in -5..4, and one is 5"),
        (gathered([0], 0), ShapeError, "`axis` must be in 1..2, not 0; axis 0 is the batch"),
    ],
)
def test_what_gather_cannot_do(model, kind, sentence):
    with pytest.raises(kind) as error:
        compile_model(model)
    assert str(error.value) == f"node `n` (Gather): {sentence}"


def parts(sizes, count, **attributes):
    file = File(x=(7, 2))
    given = [file.constant(sizes, dtype=np.int64)] if sizes else []
    names = [f"part{k}" for k in range(count)]
    file.nodes.append(helper.make_node("Split", [file.quant("x"), *given], names, name="n", **attributes))
    return file.model(*[file.node("Relu", name) for name in names])


@pytest.mark.parametrize("given", [((1, 4, 2), 3, {"axis": 1}), ((), 2, {"axis": -2, "num_outputs": 2})])
def test_split(given):
    sizes, outputs, attributes = given
    program = assert_like_runtime(parts(sizes, outputs, **attributes), images((7, 2)))
    assert [node.op for node in program.nodes] == ["slice"] * outputs + ["relu"] * outputs


def test_a_part_that_nothing_reads_is_left_out():
    model = parts((1, 6), 2, axis=1)
    del model.graph.node[-1]
    del model.graph.output[-1]
    model.graph.node[-2].output[1] = ""
    assert [node.op for node in compile_model(model).nodes] == ["slice", "relu"]


def test_sizes_that_are_not_those_of_the_axis():
    with pytest.raises(ShapeError) as error:
        compile_model(parts((1, 4), 2, axis=1))
    assert str(error.value) == "node `n` (Split): axis 1 of 7 cannot be split into 2 parts of the sizes [1, 4]"


def test_product_of_two_activations_is_counted_as_such():
    file = File(x=(3, 4))
    x = file.quant("x")
    program = assert_like_runtime(file.model(file.node("Mul", x, file.quant(x, -3, 5))), images((3, 4)))
    assert [(row.primitive, row.widths, row.count, row.multiplied_by) for row in count(program).rows][-1:] == [
        ("mul", (8, 5), 12, "activation")
    ]


@pytest.mark.parametrize("first", [0, 1])
def test_product_with_a_quantized_constant_is_a_multiplication_by_what_was_learned(first):
    file = File(x=(3, 4))
    operands = [file.quant("x"), file.weights([[1.0], [0.25], [-0.375]])]
    program = assert_like_runtime(file.model(file.node("Mul", *operands[:: 1 - 2 * first])), images((3, 4)))
    assert [(row.primitive, row.multiplied_by) for row in count(program).rows] == [("mul", "learned")]


def by_channel(*tail):
    """A file with a gain for each of the channels of x [6, 4], then heads, then `tail` for each quantizer."""
    file = File(x=(6, 4))
    gained = file.mf("Shift", file.quant("x"), file.constant([1.0, 2.0, 0.25, 8.0]))
    heads = file.node("Reshape", gained, file.constant([0, 6, 2, 2], dtype=np.int64), name="heads")
    moved = file.node("Transpose", heads, perm=[0, 2, 1, 3])
    return file.model(*[quantize(file, moved) for quantize in tail])


def test_a_quantizer_goes_in_front_of_a_reshape_that_loses_the_axis_of_a_scale():
    program = assert_like_runtime(by_channel(lambda file, x: file.node("Relu", file.quant(x, -3, 6))), images((6, 4)))
    assert [node.op for node in program.nodes] == ["shift", "requantize", "reshape", "transpose", "relu"]


def test_two_quantizers_behind_such_a_reshape():
    coarse, fine = (lambda file, x, e=e: file.quant(x, e, 8) for e in (-2, -5))
    program = assert_like_runtime(by_channel(coarse, fine), images((6, 4)))
    assert [node.op for node in program.nodes] == ["shift", *["requantize", "reshape", "transpose"] * 2]


@pytest.mark.parametrize(
    ("tail", "kind", "sentence"),
    [
        (
            lambda file, x: file.node("Relu", x, name="n"),
            LostScaleError,
            "node `n` (Relu): the scale of `t1` varies along an axis that `heads` does not keep; requantize first",
        ),
        (
            lambda file, x: x,
            LostScaleError,
            "graph output `t3` has no single scale: that of `t1` varies along an axis that is lost; quantize it",
        ),
        (
            lambda file, x: file.quant(x, [-3, -4], 8, name="n"),
            FormatError,
            "node `n` (qonnx.custom_op.general::Quant): the scale must be one number, because `heads` in front moves channels",
        ),
    ],
)
def test_what_does_not_wait_for_a_quantizer(tail, kind, sentence):
    with pytest.raises(kind) as error:
        compile_model(by_channel(tail))
    assert str(error.value) == sentence
