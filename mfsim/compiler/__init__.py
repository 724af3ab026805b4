"""From ONNX files to integer programs.

`compile_model` lowers a quantized model (Quant nodes of QONNX with power-of-two scales, ops of the
domain org.mfsim, standard ops that are exact on codes), and files of others (QONNX and QCDQ with any
scales); `load` also reads integer.onnx.
"""

from __future__ import annotations

import os

import onnx

from mfsim.compiler.caches import caches_of
from mfsim.compiler.checks import INTEGER, check_domains, check_numbers, in_dialect
from mfsim.compiler.codes import move_codes, moves_codes
from mfsim.compiler.foreign import normalised
from mfsim.compiler.graph import FileNode, graph_of
from mfsim.compiler.inputs import define_inputs
from mfsim.compiler.integer import read_integer
from mfsim.compiler.lowering import Coded, Lowering, Waiting, naming
from mfsim.compiler.reader import read_model, source_digest
from mfsim.compiler.rules import FOREIGN_RULES, RULES, Rule
from mfsim.compiler.unsupported import unsupported
from mfsim.compiler.waiting import lower_moving
from mfsim.errors import FormatError, LostScaleError, ModelError, UnsupportedOpError
from mfsim.program import Program

FORMAT = "1"
"""Version of what the compiler makes of a file; it changes when a program of the same file may change."""

MULTIPLIER_BITS = 31
"""Bits of fixed-point multipliers, where the caller does not say."""

SEVERAL_OUTPUTS = frozenset({("", "Split")})
"""Ops whose rule takes care of all outputs."""

APPROXIMATION = "approximation."
"""What the keys of the approximations in the metadata of a program begin with."""


def compile_model(source: str | os.PathLike[str] | onnx.ModelProto, *, multiplier_bits: int | None = None) -> Program:
    """Return the integer program of a quantized model.

    Parameters
    ----------
    source : path of an ONNX file, or a ModelProto
    multiplier_bits : int
        Bits of the fixed-point multipliers, 2 to 62, that stand for scales which are no powers of two; 0
        to refuse such scales, zero points and everything else that the dialect of mfsim does not have.
        Left out: 0 for a file that uses the domain org.mfsim, 31 for a file of others.

    Returns
    -------
    Program
        Its inputs are the codes of each graph input's first Quant. Tensors and nodes keep the names
        of the file. The same file gives the same program, digest included. `approximations` lists what
        is not exact in it.

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
    digest = source_digest(model)
    bits = (0 if in_dialect(model) else MULTIPLIER_BITS) if multiplier_bits is None else multiplier_bits
    model = normalised(model) if bits else model
    opset = check_domains(model)
    if bits != 0 and not 2 <= bits <= 62:
        raise FormatError(f"`multiplier_bits` must be 0 or in 2..62, not {bits}")
    graph = graph_of(model, opset, foreign=bits > 0)
    check_numbers(graph)
    lowering = Lowering(graph, bits)
    for node in graph.nodes:
        lowering.fold(node)
    metadata = define_inputs(lowering)
    for node in graph.nodes:
        if node not in lowering.done and not lowering.fold(node):
            _lower(lowering, node)
    outputs = [_output(lowering, name) for name in graph.outputs]
    metadata |= caches_of(model, tuple(graph.inputs), outputs, lowering.builder.tensors)
    notes = {f"{APPROXIMATION}{k:04}": note for k, note in enumerate(dict.fromkeys(lowering.notes))}
    return lowering.builder.finish(outputs, {"format": FORMAT, "source": digest} | metadata | notes)


def approximations(program: Program) -> list[str]:
    """Return what is approximated in a program that was compiled from a file of others, one sentence each."""
    return [text for key, text in sorted(program.metadata.items()) if key.startswith(APPROXIMATION)]


def load(source: str | os.PathLike[str] | onnx.ModelProto) -> Program:
    """Return the program of a quantized model or of an integer.onnx, whichever the file is."""
    model = read_model(source)
    if any(entry.domain == INTEGER for entry in model.opset_import):
        return read_integer(model)
    return compile_model(model)


def _lower(lowering: Lowering, node: FileNode) -> None:
    def rule_of(node: FileNode) -> Rule:
        rule = RULES.get((node.domain, node.op))
        if rule is None and not lowering.strict:
            rule = FOREIGN_RULES.get((node.domain, node.op))
        if rule is None:
            raise unsupported(node, lowering.strict)
        return rule

    rule = rule_of(node)
    with naming(node):
        if sum(bool(name) for name in node.outputs) != 1 and (node.domain, node.op) not in SEVERAL_OUTPUTS:
            raise UnsupportedOpError(f"only one output is supported, not {len(node.outputs)}")
        if moves_codes(lowering, node):
            move_codes(lowering, node, rule)
        else:
            lower_moving(lowering, node, rule, rule_of)


def _output(lowering: Lowering, name: str) -> str:
    """Return the program tensor of a graph output, under the name of the output."""
    value = lowering.values[name]
    if isinstance(value, Waiting):
        raise LostScaleError(
            f"graph output `{name}` has no single scale: that of `{value.name}` varies along an axis that is lost; "
            "quantize it"
        )
    if isinstance(value, Coded):
        value = lowering.integers(lowering.writer(name), value)
    if not isinstance(value, str):
        raise ModelError(f"graph output `{name}` is constant")
    return (
        value
        if value == name
        else lowering.builder.node("shift", [value], {"exponents": (0,)}, name=name, outputs=[name])
    )
