"""Which form of a kernel runs a node."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mfsim import ops
from mfsim.kernels.fits import Fit
from mfsim.kernels.operands import Operand
from mfsim.program import Node, Program, Tensor

Run = Callable[[Sequence[np.ndarray], Mapping[str, Any], Sequence[np.ndarray]], int | None]
"""`run(inputs, attributes, outputs)` fills the outputs and may return how many codes did not fit."""

FITTING = frozenset(f"{kind}{shape}" for kind in ("", "mf_", "adder_", "min_", "shift_") for shape in ("conv2d", "matmul"))
"""Ops whose fast form can fit its sums into a word before it writes them."""
ANY_WORD = frozenset({"pad", "slice", "transpose"})
"""Ops whose plain form moves codes of any integer type."""


def operand_of(tensor: Tensor) -> Operand:
    """Return what a fast form is told of a tensor."""
    shape = tensor.shape if tensor.is_constant else tensor.shape[1:]
    return Operand(tensor.range.low, tensor.range.high, shape, tensor.codes)


def form_of(
    op: str,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    attributes: Mapping[str, Any],
    after: Fit | None = None,
) -> Run | None:
    """Return the fast form for these operands, or None if the op, or such words, have none.

    It takes codes, in C order, of any integer type that holds them; constants as int64. With `after`, one rule for each
    channel of the product, its sums are fitted before they are written.
    """
    if "fast" not in ops.get(op).realisations:
        return None
    prepare = importlib.import_module(f"mfsim.kernels.fast_{op}").prepare
    run: Run | None = prepare(inputs, outputs, attributes, after) if after else prepare(inputs, outputs, attributes)
    return run


def fast_form(program: Program, node: Node) -> Run | None:
    """Return the fast form of a node; see `form_of`."""
    inputs, outputs = (
        [operand_of(t) for t in tensors] for tensors in (program.inputs_of(node), program.outputs_of(node))
    )
    return form_of(node.op, inputs, outputs, node.attributes)


def plain_form(op: str) -> Run:
    """Return the plain form of an op, which takes and fills int64 codes."""
    run: Run = importlib.import_module(f"mfsim.kernels.{op}").run
    return run


def any_word(op: str) -> Run:
    """Return the plain form of an op for codes of any integer type: through int64 where it moves more than codes."""
    run = plain_form(op)
    if op in ANY_WORD:
        return run

    def widened(
        inputs: Sequence[np.ndarray], attributes: Mapping[str, Any], outputs: Sequence[np.ndarray]
    ) -> int | None:
        wide = [np.empty(y.shape, np.int64) for y in outputs]
        events = run([x.astype(np.int64, copy=False) for x in inputs], attributes, wide)
        for y, codes in zip(outputs, wide, strict=True):
            y[...] = codes
        return events

    return widened
