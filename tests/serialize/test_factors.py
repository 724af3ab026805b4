"""Scales that are no powers of two in integer.onnx: written exactly, read back exactly, and believed only if proved."""

from __future__ import annotations

import json

import pytest

from mfsim.errors import ModelError
from mfsim.ir.builder import ProgramBuilder
from mfsim.ir.formats import Format, Scale
from mfsim.ops.grid.rescale import target_attributes
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model


def written():
    builder = ProgramBuilder()
    x = builder.input("x", (3, 2), Format(8), Scale.of_steps([0.1, 0.25, 3.7], 1))
    attributes = {"bits": 8, "axis": 1} | target_attributes(Scale.of_steps([0.3]))
    program = builder.finish([builder.node("rescale", [x], attributes, outputs=["y"])])
    return program, integer_model(program)


def set_scale(model, value):
    (entry,) = [e for e in model.graph.output[0].metadata_props if e.key == "mfsim.scale"]
    entry.value = json.dumps(value)


def test_factors_survive():
    program, model = written()
    again = read_integer(model)
    assert again.digest() == program.digest()
    assert again.tensors["x"].scale == program.tensors["x"].scale
    assert again.tensors["x"].scale.steps[0] == 0.1


def test_digest_depends_on_factors():
    first, _ = written()
    builder = ProgramBuilder()
    x = builder.input("x", (3, 2), Format(8), Scale.of_steps([0.1000001, 0.25, 3.7], 1))
    attributes = {"bits": 8, "axis": 1} | target_attributes(Scale.of_steps([0.3]))
    second = builder.finish([builder.node("rescale", [x], attributes, outputs=["y"])])
    assert first.digest() != second.digest()


@pytest.mark.parametrize("pair", [[1, 0], [1, 2], [3], ["3", 2], [1.5, 1]])
def test_damaged_factors(pair):
    _, model = written()
    set_scale(model, {"exponents": [-2], "axis": None, "factors": [pair]})
    with pytest.raises(ModelError, match=r"the metadata `mfsim.scale` of tensor `y` cannot be read"):
        read_integer(model)


def test_factors_that_the_node_does_not_prove():
    _, model = written()
    set_scale(model, {"exponents": [-2], "axis": None, "factors": [[5, 4]]})
    with pytest.raises(ModelError, match=r"node `rescale` .* has the output `y` with another scale"):
        read_integer(model)
