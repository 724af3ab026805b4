"""Read `integer.onnx` back as the program that it was written from, and prove that it is one.

The metadata says what the program is. Nothing in it is believed:

1. every node is inferred again, and its words, scales and ranges must be those of the file;
2. the model is written again from the program, and nodes, initializers (derived ones too) and
   functions must be equal, so that what ONNX Runtime computes is what the program says;
3. the digest of the program must be that in the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from mfsim import ops
from mfsim.compiler import compile_model
from mfsim.compiler.frontend.graph import array_of
from mfsim.compiler.frontend.reader import read_model
from mfsim.errors import MfsimError, ModelError
from mfsim.ir.formats import Format
from mfsim.ir.program import Node, Program
from mfsim.keywords import check_keywords
from mfsim.ops.integer_body import DOMAIN
from mfsim.serialize.metadata import LAYOUT, Properties, program_metadata, read_node, read_tensor
from mfsim.serialize.write import integer_model


@check_keywords
def read_integer(model: str | os.PathLike[str] | onnx.ModelProto) -> Program:
    """Return the program in an `integer.onnx` file or its ModelProto.

    Parameters
    ----------
    model : str, path or onnx.ModelProto
        Integer model.

    Returns
    -------
    Program
        The program, with the digest that the file states.

    Raises
    ------
    ModelError
        If it cannot be read (see `read_model`), is no integer model, or was changed so that it no
        longer computes what its metadata says; the message names the node or tensor.
    """
    proto = read_model(model)
    _check_text(proto)
    if not _is_integer(proto):
        raise ModelError(f"this is no integer model of mfsim: it does not import the domain {DOMAIN}")
    properties = Properties(proto, "the model")
    if properties.text("mfsim.integer") != LAYOUT:
        raise ModelError(f"the layout of this integer model must be {LAYOUT}, not {properties.text('mfsim.integer')!r}")
    program = _restore(proto, program_metadata(properties))
    for node in program.nodes:
        _check_inference(program, node)
    try:
        expected = integer_model(program)
    except MfsimError as error:
        raise ModelError(f"this integer model cannot be written again: {error}") from error
    _check_equal(proto, expected)
    if properties.text("mfsim.digest") != program.digest():
        raise ModelError("the digest in the file is not that of its program: codes or metadata were changed")
    return program


def _is_integer(proto: onnx.ModelProto) -> bool:
    """Return whether a model claims to be written by `write_integer`."""
    return any(opset.domain == DOMAIN for opset in proto.opset_import)


def _check_text(proto: Any) -> None:
    """Raise `ModelError` where a text anywhere in `proto` is not UTF-8; protobuf hands it out as bytes."""
    for field, value in proto.ListFields():
        values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else [value]
        if field.type == field.TYPE_MESSAGE:
            for message in values:
                _check_text(message)
        elif field.type == field.TYPE_STRING and not all(isinstance(text, str) for text in values):
            raise ModelError(f"`{field.name}` in this integer model is damaged: it is not UTF-8 text")


def _restore(proto: onnx.ModelProto, metadata: dict[str, str]) -> Program:
    """Return the program that the metadata describes."""
    graph, nodes, tensors = proto.graph, [], {}
    for made in graph.node:
        if made.domain == DOMAIN:
            nodes.append(read_node(made))
        elif made.op_type != "Cast":
            raise ModelError(f"node `{made.name}` ({made.op_type}) is no op of the integer program")
    for info in (*graph.input, *graph.value_info, *graph.output):
        dims = info.type.tensor_type.shape.dim
        if info.metadata_props and info.name not in tensors:
            tensors[info.name] = read_tensor(info.name, (1, *(d.dim_value for d in dims[1:])), info, None)
    for initializer in graph.initializer:
        if initializer.metadata_props:
            codes = _array(initializer)
            tensors[initializer.name] = read_tensor(initializer.name, codes.shape, initializer, codes.astype(np.int64))
    try:
        return Program(
            tuple(info.name for info in graph.input),
            tuple(info.name for info in graph.output),
            tensors,
            tuple(nodes),
            metadata,
        )
    except MfsimError as error:
        raise ModelError(f"the nodes of this integer model make no program: {error}") from error


def _array(initializer: onnx.TensorProto) -> np.ndarray:
    codes = array_of(initializer)
    if codes.dtype not in (np.int32, np.int64):
        raise ModelError(f"initializer `{initializer.name}` must be int32 or int64, not {codes.dtype}")
    return codes


def _check_inference(program: Program, node: Node) -> None:
    """Raise `ModelError` unless `node` has the outputs and words that its inputs prove."""
    inputs, where = program.inputs_of(node), f"node `{node.name}` ({node.op})"
    try:
        op = ops.get(node.op)
        op.check_inputs(len(inputs))
        if op.complete(node.attributes) != dict(node.attributes):
            raise ModelError("its attributes are not in canonical form")
        inference = op.infer(inputs, node.attributes)
    except MfsimError as error:
        raise ModelError(f"{where} is not valid: {error}") from error
    if dict(inference.words) != dict(node.words):
        raise ModelError(
            f"{where} has the inner words {_words(node.words)}, and its inputs prove {_words(inference.words)}"
        )
    if len(inference.outputs) != len(node.outputs):
        raise ModelError(f"{where} must have {len(inference.outputs)} outputs, not {len(node.outputs)}")
    for tensor, proved in zip(program.outputs_of(node), inference.outputs, strict=True):
        for what in ("shape", "format", "scale", "range"):
            if getattr(tensor, what) != getattr(proved, what):
                raise ModelError(f"{where} has the output `{tensor.name}` with another {what} than its inputs prove")


def _words(words: Mapping[str, Format]) -> str:
    return ", ".join(f"{name} {word}" for name, word in words.items()) or "none"


def _check_equal(proto: onnx.ModelProto, expected: onnx.ModelProto) -> None:
    """Raise `ModelError`, naming the place, unless `proto` computes what `expected` does."""
    owners = {name: node.name for node in expected.graph.node for name in node.input if "/" in name}
    arrays = {i.name: _array(i) for i in proto.graph.initializer}
    wanted = {i.name: _array(i) for i in expected.graph.initializer}
    for name, array in wanted.items():
        found = arrays.pop(name, None)
        if found is None or found.dtype != array.dtype or not np.array_equal(found, array):
            raise ModelError(
                f"node `{owners.get(name, '')}`: the initializer `{name}` is not the one that its attributes give"
            )
    if arrays:
        raise ModelError(f"initializer `{min(arrays)}` belongs to no node")
    for found, node in _pairs(proto.graph.node, expected.graph.node, "node"):
        if _calls(found) != _calls(node):
            raise ModelError(f"node `{node.name}` ({node.op_type}) is not the one that its metadata describes")
    for what in ("input", "output"):
        for found, info in _pairs(getattr(proto.graph, what), getattr(expected.graph, what), what):
            if found.type != info.type:
                raise ModelError(f"{what} `{info.name}` has another type or shape than its metadata describes")
    for found, function in _pairs(proto.functions, expected.functions, "function"):
        if found.SerializeToString(deterministic=True) != function.SerializeToString(deterministic=True):
            raise ModelError(f"the function `{function.name}` is not the one that this version of mfsim writes")


def _pairs(found: Iterable[Any], expected: Iterable[Any], what: str) -> Iterable[tuple[Any, Any]]:
    found, expected = list(found), list(expected)
    if len(found) != len(expected):
        raise ModelError(f"this integer model has {len(found)} {what}s, and its metadata describes {len(expected)}")
    return zip(found, expected, strict=True)


def _calls(node: onnx.NodeProto) -> tuple[object, ...]:
    attributes = sorted(a.SerializeToString(deterministic=True) for a in node.attribute)
    return node.op_type, node.domain, node.overload, list(node.input), list(node.output), attributes


@check_keywords
def load(source: str | os.PathLike[str] | onnx.ModelProto) -> Program:
    """Return the program of a file: a quantized model is compiled, an integer.onnx is read.

    Parameters
    ----------
    source : str, path or onnx.ModelProto
        Quantized or integer model.

    Returns
    -------
    Program
        Integer program.

    Raises
    ------
    ModelError
        If it cannot be read, or is neither.
    MfsimError
        If it cannot be compiled, as `compile_model` says.
    """
    model = read_model(source)
    if _is_integer(model):
        return read_integer(model)
    return compile_model(model)
