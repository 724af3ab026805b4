"""No float tensor stands anywhere in integer.onnx: graphs, functions, attributes, inferred types."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.inliner
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from mfsim.serialize.write import integer_model
from tests.conformance.instance import program_of
from tests.conformance.test_conformance import CASES
from tests.serialize.networks import NETWORKS

ALLOWED = {TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL}
ATTRIBUTES = {AttributeProto.INT, AttributeProto.INTS, AttributeProto.STRING}
COMPARISONS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
INEXACT = {"ReduceSum", "ReduceL1", "ReduceMean", "Einsum", "Pow"}
PROGRAMS = [pytest.param(build, id=name) for name, build in NETWORKS.items()] + [
    pytest.param(lambda op=case.values[0], case=case.values[1]: program_of(op, case), id=case.id)
    for case in CASES
    if "integer" in case.values[0].realisations
]


def faults(model: onnx.ModelProto) -> list[str]:
    """Return what is no integer in `model`: attributes and initializers as written, types as inferred."""
    return [*_written(model), *_inferred(model)]


def _nested(nodes) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the bodies of their loops."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from _nested(attribute.g.node)


def _written(model) -> Iterator[str]:
    nodes = _nested([*model.graph.node, *(node for function in model.functions for node in function.node)])
    for node in nodes:
        if node.op_type in INEXACT:
            yield f"operator {node.op_type}"
        for attribute in node.attribute:
            is_body = (node.op_type, attribute.name, attribute.type) == ("Loop", "body", AttributeProto.GRAPH)
            referred = attribute.ref_attr_name and attribute.type in ATTRIBUTES
            if not is_body and not referred and attribute.type not in ATTRIBUTES:
                yield f"attribute {attribute.name} of {node.op_type}"
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i not in ALLOWED:
                yield f"Cast to {attribute.i}"
            if attribute.name in ("value_string", "value_strings"):
                yield f"text of {node.op_type}"
    for initializer in (*model.graph.initializer, *model.graph.sparse_initializer):
        if initializer.data_type not in ALLOWED - {TensorProto.BOOL}:
            yield f"initializer {initializer.name}"


def _inferred(model) -> Iterator[str]:
    inlined = onnx.inliner.inline_local_functions(model)
    graph = onnx.shape_inference.infer_shapes(inlined, check_type=True, strict_mode=True, data_prop=True).graph
    yield from _types(graph, set())
    for info in (*graph.input, *graph.output):
        if info.type.tensor_type.elem_type not in ALLOWED - {TensorProto.BOOL}:
            yield f"{info.name} has type {info.type.tensor_type.elem_type}"


def _types(graph, conditions: set[str]) -> Iterator[str]:
    """Yield what is no integer in a graph; of a loop's body, `conditions` may be passed on as bool."""
    types = {i.name: i.type.tensor_type.elem_type for i in (*graph.input, *graph.output, *graph.value_info)}
    for node in graph.node:
        for name in node.output:
            kind = types.get(name)
            if kind not in ALLOWED:
                yield f"{name} of {node.op_type} has type {kind}"
            if kind == TensorProto.BOOL and node.op_type not in COMPARISONS and not conditions & set(node.input):
                yield f"{name} of {node.op_type} is bool"
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _types(attribute.g, {attribute.g.input[1].name})


@pytest.mark.parametrize("build", PROGRAMS)
def test_every_tensor_is_an_integer(build):
    assert faults(integer_model(build())) == []


def _model(nodes, initializers=(), kind=TensorProto.INT32):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["batch", 2])],
        [helper.make_tensor_value_info("y", kind, ["batch", 2])],
        [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


FLOAT = [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT), helper.make_node("CastLike", ["f", "x"], ["y"])]
NONZERO = [helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BOOL), helper.make_node("CastLike", ["b", "x"], ["y"])]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (_model(FLOAT), ["Cast to 1", "f of Cast has type 1"]),
        (_model(NONZERO), ["b of Cast is bool"]),
        (
            _model([helper.make_node("Abs", ["x"], ["y"])], kind=TensorProto.FLOAT),
            ["y of Abs has type 1", "x has type 1", "y has type 1"],
        ),
        (
            _model([helper.make_node("Identity", ["x"], ["y"])], {"c": np.zeros(2, np.float32)}),
            ["initializer c"],
        ),
        (
            _model(
                [
                    helper.make_node("Constant", [], ["c"], value_float=1.0),
                    helper.make_node("CastLike", ["x", "x"], ["y"]),
                ]
            ),
            ["attribute value_float of Constant", "c of Constant has type 1"],
        ),
        (_model([helper.make_node("ReduceSum", ["x"], ["y"], noop_with_empty_axes=1)]), ["operator ReduceSum"]),
    ],
)
def test_the_walk_finds_what_is_no_integer(model, expected):
    assert faults(model) == expected
