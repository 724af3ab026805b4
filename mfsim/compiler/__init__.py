"""From ONNX files to integer programs.

`compile_model` lowers a quantized model (Quant nodes of QONNX with power-of-two scales, ops of the
domain org.mfsim, standard ops that are exact on codes); `load` also reads integer.onnx.
"""

from __future__ import annotations

import os

import onnx

from mfsim.compiler.checks import INTEGER, check_domains, check_numbers
from mfsim.compiler.graph import FileNode, graph_of
from mfsim.compiler.inputs import define_inputs
from mfsim.compiler.integer import read_integer
from mfsim.compiler.lowering import Lowering, naming
from mfsim.compiler.reader import read_model, source_digest
from mfsim.compiler.rules import RULES
from mfsim.compiler.unsupported import unsupported
from mfsim.errors import ModelError, UnsupportedOpError
from mfsim.program import Program

FORMAT = "1"
"""Version of what the compiler makes of a file; it changes when a program of the same file may change."""


def compile_model(source: str | os.PathLike[str] | onnx.ModelProto) -> Program:
    """Return the integer program of a quantized model.

    Parameters
    ----------
    source : path of an ONNX file, or a ModelProto

    Returns
    -------
    Program
        Its inputs are the codes of each graph input's first Quant. Tensors and nodes keep the names
        of the file. The same file gives the same program, digest included.

    Raises
    ------
    ModelError
        If the file cannot be used as it is.
    UnsupportedOpError
        If a node has no exact integer form; it names the node, its op, and what to do.
    FormatError, ShapeError, RangeError
        If a scale is no power of two, a word is too wide, a shape does not suit its op.
    """
    model = read_model(source)
    graph = graph_of(model, check_domains(model))
    check_numbers(graph)
    lowering = Lowering(graph)
    for node in graph.nodes:
        lowering.fold(node)
    metadata = define_inputs(lowering)
    for node in graph.nodes:
        if node not in lowering.done and not lowering.fold(node):
            _lower(lowering, node)
    outputs = [_output(lowering, name) for name in graph.outputs]
    return lowering.builder.finish(outputs, {"format": FORMAT, "source": source_digest(model)} | metadata)


def load(source: str | os.PathLike[str] | onnx.ModelProto) -> Program:
    """Return the program of a quantized model or of an integer.onnx, whichever the file is."""
    model = read_model(source)
    if any(entry.domain == INTEGER for entry in model.opset_import):
        return read_integer(model)
    return compile_model(model)


def _lower(lowering: Lowering, node: FileNode) -> None:
    rule = RULES.get((node.domain, node.op))
    if rule is None:
        raise unsupported(node)
    with naming(node):
        if sum(bool(name) for name in node.outputs) != 1:
            raise UnsupportedOpError(f"only one output is supported, not {len(node.outputs)}")
        rule(lowering, node)


def _output(lowering: Lowering, name: str) -> str:
    """Return the program tensor of a graph output, under the name of the output."""
    value = lowering.values[name]
    if not isinstance(value, str):
        raise ModelError(f"graph output `{name}` is constant")
    return (
        value
        if value == name
        else lowering.builder.node("shift", [value], {"exponents": (0,)}, name=name, outputs=[name])
    )
