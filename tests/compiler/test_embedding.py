"""Inputs of integers that number rows of constants: programs, what they refuse, and ONNX Runtime beside them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from mfsim.compiler import compile_model
from mfsim.errors import DataError, FormatError, ModelError, UnsupportedOpError
from mfsim.export.runtime import run, session
from mfsim.ir.formats import Range
from mfsim.parity.compare import codes_of
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input, simulate
from tests.bits import assert_bit_equal
from tests.compiler.files import File

TABLE = np.random.default_rng(3).normal(0, 1, (11, 3)).astype(np.float32)


def file_of(build, shape=(2,), table=TABLE) -> onnx.ModelProto:
    """Return a file whose input `ids` is int64; `build` adds nodes to a table and returns the output."""
    file = File(ids=shape)
    model = file.model(build(file, file.weights(table, -4, 8)))
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    return model


def ids_of(rows: int, shape=(2,), count: int = 9) -> np.ndarray:
    ids = np.random.default_rng(1).integers(0, rows, (count, *shape))
    ids.reshape(-1)[:2] = 0, rows - 1
    return ids


def assert_same(model, ids):
    program = compile_model(model)
    codes = quantize_input(program, ids)
    (name,) = program.outputs
    found = simulate(program, codes, threads=1).outputs[name]
    for optimise in (True, False):
        assert_bit_equal(codes_of(program, run(session(model, optimise), ids))[name], found)
    integers = integer_model(program)
    assert read_integer(integers).digest() == program.digest()
    assert_bit_equal(run(session(integers), codes.astype(np.int32))[name].astype(np.int64), found)
    return program


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), ()])
def test_rows_of_a_quantized_table(shape):
    program = assert_same(file_of(lambda f, table: f.node("Gather", table, "ids"), shape), ids_of(11, shape))
    assert program.tensors["ids"].range == Range.of(0, 10)
    assert [node.op for node in program.nodes] == ["embedding"]
    assert program.metadata["input.ids.rounding"] == "none"


def test_moved_and_joined_numbers_take_the_smaller_table():
    def build(file, table):
        other = file.weights(TABLE[:7, :2], -4, 8)
        twice = file.node("Concat", "ids", "ids", axis=1)
        wide = file.node("Gather", table, twice)
        first = file.node("Reshape", "ids", file.constant([-1, 2, 1], dtype=np.int64))
        narrow = file.node("Reshape", file.node("Gather", other, first), file.constant([-1, 2, 2], dtype=np.int64))
        both = file.node("Reshape", narrow, file.constant([-1, 4, 1], dtype=np.int64))
        return file.node("Concat", wide, both, axis=2)

    program = assert_same(file_of(build), ids_of(7))
    assert program.tensors["ids"].range == Range.of(0, 6)


def test_a_table_of_integers_needs_no_quantizer():
    def build(file, table):
        mask = file.constant(np.tri(11, 3, 0), "mask")
        return file.node("Gather", mask, "ids")

    program = assert_same(file_of(build), ids_of(11))
    assert (program.tensors["mask"].format.bits, program.tensors["mask"].format.signed) == (1, False)


def refusal(build, **options):
    with pytest.raises((FormatError, ModelError, UnsupportedOpError)) as error:
        compile_model(file_of(build, **options))
    return str(error.value)


def test_what_cannot_be_read():
    assert refusal(lambda f, table: f.node("Gather", table, "ids", axis=1)) == (
        "node `gather1` (Gather): `axis` must be 0 where the indices are an activation, not 1"
    )
    fine = refusal(lambda f, table: f.node("Gather", f.constant(TABLE / 3, "rows"), "ids"))
    assert fine.startswith("node `gather1` (Gather): ")
    assert fine.endswith("does not lie on the grid 2^0")
    by_row = refusal(lambda f, t: f.node("Gather", f.weights(TABLE, np.arange(11)[:, None] - 9, 8), "ids"))
    assert by_row == "node `gather2` (Gather): the rows must have one scale, a power of two"


def test_integers_that_something_else_reads():
    def build(file, table):
        return file.node("Add", file.node("Gather", table, "ids"), file.quant(file.node("Cast", "ids", to=1)))

    assert refusal(build) == (
        "graph input `ids` of integers must number rows of constants by Gather alone, "
        "but node `quant3` (qonnx.custom_op.general::Quant) reads it; other inputs must be float32"
    )


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (np.array([[0, 11]]), "the codes of input `ids` must be in 0..10, of its word u4, and reach 0..11"),
        (np.array([[-1, 3]]), "the codes of input `ids` must be in 0..10, of its word u4, and reach -1..3"),
        (np.zeros((1, 2)), "the input `ids` must be integers, which number rows, not float64"),
    ],
)
def test_ids_that_number_no_row(ids, sentence):
    program = compile_model(file_of(lambda f, table: f.node("Gather", table, "ids")))
    with pytest.raises(DataError) as error:
        quantize_input(program, ids)
    assert str(error.value) == sentence
