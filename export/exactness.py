"""Where float32 is exact: on every node whose sums, in units of the finest grid that meets there, stay at most 2**24.

The words that the compiler proves say so: an inner accumulator of an MF product on split grids is a
float product of its own in the file's body, and the joined sum is the node's output. The body of an
integer function (softmax, a norm) computes in int64: only what enters and leaves it counts. A node past
that may differ by one LSB between torch, ONNX Runtime and the integers, of which only the integers are right.
"""

from __future__ import annotations

import onnx

from mfsim import ops
from mfsim.compiler import compile_model
from mfsim.errors import ExportError
from mfsim.ir.program import Node, Program
from mfsim.keywords import check_keywords
from mfsim.ops.grid.requantize import OP as REQUANTIZE
from mfsim.ops.traits import Trait

EXACT = 2**24
"""Every integer of at most this magnitude is a float32."""


def largest_sum(node: Node, program: Program) -> int:
    """Return a bound of every value and partial sum of `node` in units of its finest grid.

    Parameters
    ----------
    node : Node
        Of `program`.
    program : Program

    Returns
    -------
    int
        A magnitude, at least 0.
    """
    bounds = [tensor.range.bound for tensor in program.outputs_of(node)]
    if ops.get(node.op).integer_body:
        bounds += [tensor.range.bound for tensor in program.inputs_of(node) if not tensor.is_constant]
    else:
        bounds += [-word.lo if word.signed else word.hi for word in node.words.values()]
    return max(bounds)


@check_keywords
def float32_exact(node: Node, program: Program) -> bool:
    """Whether the float body of `node` gives the integer result exactly in float32.

    Parameters
    ----------
    node : Node
        Of `program`.
    program : Program

    Returns
    -------
    bool
    """
    return largest_sum(node, program) <= EXACT


def check_exact(model: onnx.ModelProto) -> None:
    """Check that float32 computes a quantized model exactly.

    Parameters
    ----------
    model : onnx.ModelProto

    Raises
    ------
    ExportError
        For the first node that float32 may get wrong.
    MfsimError
        If the model has no integer program.
    """
    check_program(compile_model(model))


def check_program(program: Program) -> None:
    """Check that float32 computes the float bodies of a program exactly.

    Parameters
    ----------
    program : Program

    Raises
    ------
    ExportError
        For the first node that float32 may get wrong.
    """
    for node in program.nodes:
        if not float32_exact(node, program):
            bits = largest_sum(node, program).bit_length() + 1
            raise ExportError(
                f"node `{node.name}` ({node.op}) of layer `{node.layer}` has sums of {bits} bits, and float32 is exact "
                f"up to 25; {_remedy(node, program)}, or allow an inexact file"
            )


def _remedy(node: Node, program: Program) -> str:
    """Return what in a recipe makes the sums of `node` smaller; for a pool, the key that decides what it sums."""
    makers = {name: maker for maker in program.nodes for name in maker.outputs}
    before = makers.get(node.inputs[0]) if node.op in ops.named(Trait.SUM_POOL) else None
    while before is not None and before.op in ops.named(Trait.LAYOUT):
        before = makers.get(before.inputs[0])
    if before is None or not before.layer or any(n.layer.startswith(f"{before.layer}.") for n in program.nodes):
        return "use fewer bits in the recipe"
    if before.op == REQUANTIZE.name:
        return f"use fewer bits of `activation` for `layers.{before.layer}` in the recipe"
    if before.op in ops.named(Trait.KEEPS_GRID):
        return (
            f"set `activation` for `layers.{before.layer}` in the recipe, which puts a quantizer in front of the pool"
        )
    return "use fewer bits in the recipe"
