"""A compilation as steps: fold constants, define inputs, lower one node after the other, name the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx

from mfsim import ops
from mfsim.compiler.frontend import qlinear
from mfsim.compiler.frontend.graph import FileGraph, FileNode
from mfsim.compiler.lower.inputs import define_inputs
from mfsim.compiler.lower.kv_cache import caches_of
from mfsim.compiler.lower.lowering import Coded, Lowering, Waiting, naming
from mfsim.compiler.lower.sink_layout import lower_moving, move_codes, moves_codes
from mfsim.errors import LostScaleError, ModelError, UnsupportedOpError, did_you_mean
from mfsim.ir.program import Program
from mfsim.ops.grid.shift import OP as SHIFT

Rule = Callable[[Lowering, FileNode], None]


def _collect(table: str) -> dict[tuple[str, str], Rule]:
    rules: dict[tuple[str, str], Rule] = {}
    for module in (*ops.realisations("lowering"), qlinear):
        rules |= getattr(module, table, {})
    return rules


RULES: dict[tuple[str, str], Rule] = _collect("RULES")
"""Every rule of the dialect by (domain, op); the domain of standard ops is ""."""

THIRD_PARTY_RULES: dict[tuple[str, str], Rule] = _collect("THIRD_PARTY_RULES")
"""Every rule for third-party files only."""


FORMAT = "2"
"""Version of what the compiler makes of a file; it changes when a program of the same file may change."""

SEVERAL_OUTPUTS = frozenset({("", "Split")})
"""Ops whose rule takes care of all outputs."""

APPROXIMATION = "approximation."
"""What the keys of the approximations in the metadata of a program begin with."""

Step = Callable[[Lowering], Any]


def steps_of(graph: FileGraph) -> list[Step]:
    """Return what has to be done to a lowering of `graph`, in this order.

    Parameters
    ----------
    graph : FileGraph
        Decoded graph.

    Returns
    -------
    list of Step
        Functions of a lowering: folding, inputs, nodes, outputs.
    """
    return [
        *(partial(_fold, node) for node in graph.nodes),
        define_inputs,
        *(partial(_lower, node) for node in graph.nodes),
        *(partial(_output, name) for name in graph.outputs),
    ]


def program_of(lowering: Lowering, model: onnx.ModelProto, digest: str, results: Sequence[Any]) -> Program:
    """Return the program that a lowering has made of `model`; `results` are those of its steps.

    Parameters
    ----------
    lowering : Lowering
        Lowering whose steps have run.
    model : onnx.ModelProto
        Its source.
    digest : str
        Digest of the source.
    results : sequence
        Results of the steps, in the order of `steps_of`.

    Returns
    -------
    Program
        Integer program.

    Raises
    ------
    ModelError
        If the caches that the model states do not fit.
    """
    graph = lowering.graph
    outputs: list[str] = list(results[len(results) - len(graph.outputs) :])
    metadata: Mapping[str, str] = results[len(graph.nodes)]
    caches = caches_of(model, tuple(graph.inputs), outputs, lowering.builder.tensors)
    notes = {f"{APPROXIMATION}{k:04}": note for k, note in enumerate(dict.fromkeys(lowering.notes))}
    return lowering.builder.finish(outputs, {"format": FORMAT, "source": digest, **metadata, **caches, **notes})


def _fold(node: FileNode, lowering: Lowering) -> None:
    lowering.fold(node)


def _lower(node: FileNode, lowering: Lowering) -> None:
    """Lower a node, unless it is done or constant."""
    if node in lowering.done or lowering.fold(node):
        return

    def rule_of(node: FileNode) -> Rule:
        rule = RULES.get((node.domain, node.op))
        if rule is None and not lowering.strict:
            rule = THIRD_PARTY_RULES.get((node.domain, node.op))
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


def _output(name: str, lowering: Lowering) -> str:
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
        else lowering.builder.node(SHIFT.name, [value], {"exponents": (0,)}, name=name, outputs=[name])
    )


# What to do about an op that has no rule.

TABLE = "use a layer of mfsim.nn that exports a table or an integer algorithm"

REAL = "the file computes in real numbers between quantizers; export it with mfsim.export"

HINTS = {
    "BatchNormalization": "fold it before the export (mfsim.quant.fold)",
    "QuantizeLinear": "the file is in the QCDQ style; export it with Quant nodes (QONNX)",
    "DequantizeLinear": "the file is in the QCDQ style; export it with Quant nodes (QONNX)",
    "Dropout": "export the model in eval mode",
    "LayerNormalization": TABLE,
    "Softmax": TABLE,
    "LogSoftmax": "leave it out: the largest logit is the same without it",
    "Round": REAL,
    "Floor": REAL,
    "Ceil": REAL,
    "Where": REAL,
    "ConvTranspose": "use a Conv on a padded input",
    "Einsum": "write it as MatMul",
} | dict.fromkeys(
    ("Sigmoid", "Tanh", "Gelu", "Erf", "Exp", "Log", "Sqrt", "Softplus", "HardSigmoid", "HardSwish", "Elu", "Selu"),
    TABLE,
)

CUT = "end the network in front of it; the largest of its inputs is the same"

NO_INTEGERS = "it has no exact integer form; end the network in front of it, or write it as an org.mfsim::Table"

THIRD_PARTY_HINTS = {
    "DynamicQuantizeLinear": "scales that follow from data are not supported; quantize with fixed scales",
    "Softmax": CUT,
    "LogSoftmax": CUT,
    "Round": "write it as a Quant or QuantizeLinear",
    "Floor": "write it as a Quant with the rounding mode FLOOR",
    "Ceil": "write it as a Quant with the rounding mode CEIL",
    "ConvTranspose": HINTS["ConvTranspose"],
    "Einsum": HINTS["Einsum"],
} | dict.fromkeys([op for op, hint in HINTS.items() if hint == TABLE and op != "Softmax"], NO_INTEGERS)
"""The same for third-party files."""

OTHERWISE = "leave it out of the model or write it with the ops that have a rule"


def unsupported(node: FileNode, strict: bool) -> UnsupportedOpError:
    """Return the error about a node without a rule: its name, op and domain, and what to do.

    `strict` is whether the file has to be in the dialect.

    Parameters
    ----------
    node : FileNode
        Node of the file.
    strict : bool
        Whether the file has to be in the dialect.

    Returns
    -------
    UnsupportedOpError
        The error, to be raised.
    """
    hints, rules = (HINTS, RULES) if strict else (THIRD_PARTY_HINTS, RULES | THIRD_PARTY_RULES)
    known = [op for domain, op in rules if domain == node.domain]
    domain = node.domain or "ai.onnx"
    hint = did_you_mean(node.op, known) if node.op not in hints else ""
    return UnsupportedOpError(
        f"node `{node.name}` has the op {node.op} of the domain {domain}, which has no rule{hint}; {hints.get(node.op, OTHERWISE)}"
    )
