"""What a file says of its caches, and what does not suit them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from mfsim.compiler import compile_model
from mfsim.errors import ModelError
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.compiler.files import File
from tests.programs_with_caches import TABLE

STATED = {"mfsim.cache.cache": "row", "mfsim.position": "position"}


def file_of(stated: dict[str, str], bits: int = 4, exponent: int = 0, width: int = 2) -> onnx.ModelProto:
    file = File(ids=(1,), position=(1,), cache=(3, 2))
    row = file.node("Gather", file.weights(TABLE[:, :width], 0, 4, narrow=0), "ids", output="row")
    kept = file.quant("cache", exponent, bits)
    joined = kept if width < 2 else file.node("Concat", kept, row, axis=1)
    place = file.node("Gather", file.weights(np.arange(4)[:, None], 0, 4), "position")
    model = file.model(joined, row, place)
    for value in model.graph.input[:2]:
        value.type.tensor_type.elem_type = TensorProto.INT64
    helper.set_model_props(model, stated)
    return model


def test_caches_of_a_file_are_those_of_its_programs():
    program = compile_model(file_of(STATED))
    assert program.caches == {"cache": "row"}
    assert program.metadata["position"] == "position"
    assert read_integer(integer_model(program)).caches == {"cache": "row"}
    assert compile_model(file_of({})).caches == {}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"stated": {"mfsim.cache.cache": "row"}},
            "the model states caches, and as their position the input ``, which it does not have",
        ),
        (
            {"stated": STATED | {"mfsim.cache.keys": "row"}},
            "the model states the cache `keys` with the new row `row`, which are no input and output",
        ),
        (
            {"stated": STATED | {"mfsim.cache.cache": "rows"}},
            "the model states the cache `cache` with the new row `rows`, which are no input and output",
        ),
        (
            {"stated": STATED, "bits": 5},
            "the new row `row` (1, 1, 2) s4 2^0 does not suit the cache `cache` (1, 3, 2) s5 2^0",
        ),
        (
            {"stated": STATED, "exponent": -1},
            "the new row `row` (1, 1, 2) s4 2^0 does not suit the cache `cache` (1, 3, 2) s4 2^-1",
        ),
        (
            {"stated": STATED, "width": 1},
            "the new row `row` (1, 1, 1) s4 2^0 does not suit the cache `cache` (1, 3, 2) s4 2^0",
        ),
    ],
)
def test_caches_that_do_not_fit(options, sentence):
    with pytest.raises(ModelError) as error:
        compile_model(file_of(**options))
    assert str(error.value) == sentence
