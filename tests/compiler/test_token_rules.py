"""Rules that token networks need: parts of a tensor by constant indices, and products of two activations."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.errors import ShapeError, UnsupportedOpError
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
