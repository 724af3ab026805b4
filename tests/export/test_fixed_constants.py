"""Constants that the architecture gives: their multiplications are counted apart, through every file."""

from __future__ import annotations

import onnx
import pytest

from mfsim.analysis.count import count
from mfsim.compiler import compile_model
from mfsim.compiler.frontend.graph import CONSTANT_KEY
from mfsim.errors import FormatError
from mfsim.export.edit import open_model
from mfsim.export.exporter import quantized_model
from mfsim.nn import models
from mfsim.op_counter import Input, count_module
from mfsim.quant import Recipe
from mfsim.serialize.read import read_integer
from mfsim.serialize.write import integer_model
from tests.quant.decoders import LETTERS, TOKENS, small_decoder, text_ids
from tests.quant.token_networks import images, quantized, small_vit

SIZES = {"width": 16, "depth": 1, "hidden": 16, "heads": 2}
TEXT = {"vocabulary": len(LETTERS), "context": TOKENS}
PRODUCTS = {"qk-dctk": 2 * 17 * 8 * 8, "rope": 2 * 2 * TOKENS * 16}
"""Both heads of the keys, [17, 8] by [8, 8]; queries and keys, by cosines and by sines."""


@pytest.fixture(scope="module", params=PRODUCTS)
def case(request):
    """A name, the file, and the count of the float network from its shapes."""
    if request.param == "rope":
        file = quantized_model(small_decoder("nano-gpt", **SIZES), text_ids()[:2])
        counted = count_module(lambda: models.create("nano-gpt", **SIZES, **TEXT), [Input((TOKENS,), integer=True)])
    else:
        options = SIZES | {"attention": request.param}
        file = quantized_model(quantized(small_vit(**options)), images(2))
        counted = count_module(lambda: models.create("mini-vit", (1, 8, 8), 10, **options), [Input((1, 8, 8))])
    return request.param, file, counted.report


def fixed_nodes(program):
    """Return {node: multiplications by fixed constants} of the products."""
    rows = [r for r in count(program).multiplications() if r.op in ("matmul", "mul") and r.multiplied_by == "fixed"]
    return {row.node: row.count for row in rows}


def edited(file, change):
    """Return a copy of `file` with `change` done to the metadata that marks fixed constants."""
    model = onnx.ModelProto()
    model.CopyFrom(file)
    marks = [entry for node in model.graph.node for entry in node.metadata_props if entry.key == CONSTANT_KEY]
    assert marks
    for entry in marks:
        change(entry)
    return model


def test_a_program_counts_as_the_shapes_of_its_network(case):
    name, file, shapes = case
    report = count(compile_model(file))
    assert report.by_class() == shapes.by_class()
    assert sum(fixed_nodes(compile_model(file)).values()) == PRODUCTS[name]


def test_the_mark_stays_in_every_file(case, tmp_path):
    _, file, _ = case
    program = compile_model(file)
    assert fixed_nodes(program)
    assert fixed_nodes(read_integer(integer_model(program))) == fixed_nodes(program)
    opened = open_model(file)
    opened.set_formats(Recipe.from_dict({"weight": 6}))
    opened.save(tmp_path / "model.onnx")
    assert fixed_nodes(compile_model(tmp_path / "model.onnx")) == fixed_nodes(program)


def test_without_the_mark_all_constants_are_learned(case):
    _, file, shapes = case
    report = count(compile_model(edited(file, lambda entry: setattr(entry, "key", "other"))))
    moved = PRODUCTS[case[0]]
    before = shapes.by_class()
    assert report.by_class() == before | {"learned": before["learned"] + moved, "fixed": before["fixed"] - moved}


def test_a_mark_that_says_something_else_is_refused(case):
    with pytest.raises(FormatError) as error:
        compile_model(edited(case[1], lambda entry: setattr(entry, "value", "fix")))
    assert "`constant` of op" in str(error.value)
    assert "must be one of learned, fixed, not 'fix'" in str(error.value)
