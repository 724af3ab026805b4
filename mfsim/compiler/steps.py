"""A compilation as steps: fold constants, define inputs, lower one node after the other, name the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import onnx

from mfsim.compiler.caches import caches_of
from mfsim.compiler.codes import move_codes, moves_codes
from mfsim.compiler.graph import FileGraph, FileNode
from mfsim.compiler.inputs import define_inputs
from mfsim.compiler.lowering import Coded, Lowering, Waiting, naming
from mfsim.compiler.rules import FOREIGN_RULES, RULES, Rule
from mfsim.compiler.unsupported import unsupported
from mfsim.compiler.waiting import lower_moving
from mfsim.errors import LostScaleError, ModelError, UnsupportedOpError
from mfsim.program import Program

FORMAT = "2"
"""Version of what the compiler makes of a file; it changes when a program of the same file may change."""

SEVERAL_OUTPUTS = frozenset({("", "Split")})
"""Ops whose rule takes care of all outputs."""

APPROXIMATION = "approximation."
"""What the keys of the approximations in the metadata of a program begin with."""

Step = Callable[[Lowering], Any]


def steps_of(graph: FileGraph) -> list[Step]:
    """Return what has to be done to a lowering of `graph`, in this order."""
    return [
        *(partial(_fold, node) for node in graph.nodes),
        define_inputs,
        *(partial(_lower, node) for node in graph.nodes),
        *(partial(_output, name) for name in graph.outputs),
    ]


def program_of(lowering: Lowering, model: onnx.ModelProto, digest: str, results: Sequence[Any]) -> Program:
    """Return the program that a lowering has made of `model`; `results` are those of its steps."""
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
        else lowering.builder.node("shift", [value], {"exponents": (0,)}, name=name, outputs=[name])
    )
