"""Which form of a kernel runs a node."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from mfsim import ops
from mfsim.kernels.operands import Operand
from mfsim.program import Node, Program, Tensor

Run = Callable[..., int | None]
"""`run(inputs, attributes, outputs)` fills the outputs and may return how many codes did not fit."""


def operand_of(tensor: Tensor) -> Operand:
    """Return what a fast form is told of a tensor."""
    shape = tensor.shape if tensor.is_constant else tensor.shape[1:]
    return Operand(tensor.range.low, tensor.range.high, shape, tensor.codes)


def fast_form(program: Program, node: Node) -> Run | None:
    """Return the fast form of a node, or None if its op, or its words, have none.

    It takes codes, in C order, of any integer type that holds them; constants as int64.
    """
    if "fast" not in ops.get(node.op).realisations:
        return None
    inputs, outputs = (
        [operand_of(t) for t in tensors] for tensors in (program.inputs_of(node), program.outputs_of(node))
    )
    module = importlib.import_module(f"mfsim.kernels.fast_{node.op}")
    run: Run | None = module.prepare(inputs, outputs, node.attributes)
    return run


def plain_form(node: Node) -> Run:
    """Return the plain form of a node, which takes and fills int64 codes."""
    run: Run = importlib.import_module(f"mfsim.kernels.{node.op}").run
    return run


def kernel_of(program: Program, node: Node, kernels: str) -> Run:
    """Return the form of a node that `kernels`, `fast` or `plain`, asks for; `fast` where it has one."""
    return (fast_form(program, node) if kernels == "fast" else None) or plain_form(node)
