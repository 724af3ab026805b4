"""Constants: what a file computes from constants alone, evaluated before or while it is lowered.

Plain arrays go through the reference evaluator of `onnx`, one node at a time, for ops that move or
choose data or compute exactly rounded elementwise results. Quantized constants go through the ops that
only move data: once for their codes, once for their exponents and once for their factors. Shape vectors
may hold `BATCH`; they, too, may only be moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from mfsim.compiler.frontend.graph import BATCH, FileNode
from mfsim.compiler.lower.grid import Grid
from mfsim.errors import ModelError, UnsupportedOpError

MOVING = frozenset(
    ("Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze")
)
"""Ops that only move data."""

CASTS = frozenset(("Cast", "CastLike"))

COMPUTING = frozenset(
    ("Abs", "Add", "Clip", "Constant", "ConstantOfShape", "Div", "Mul", "Neg", "Range", "Shape", "Size", "Sqrt", "Sub")
)
"""Further ops of plain arrays."""

Constant = np.ndarray | Grid


def fold(node: FileNode, inputs: Sequence[Constant | None], opset: int) -> Sequence[Constant] | None:
    """Constant folding of one node.

    Parameters
    ----------
    node : FileNode
        Node of the file.
    inputs : sequence of (array, Grid or None)
        Constant inputs; None for one that is left out.
    opset : int
        Version of the standard opset.

    Returns
    -------
    sequence of (array or Grid), or None
        Outputs of the node; None if it has to be lowered.

    Raises
    ------
    UnsupportedOpError
        If the node computes with the batch size.
    ModelError
        If the node cannot be evaluated.
    """
    if node.domain:
        return None
    arrays = [value for value in inputs if not isinstance(value, Grid)]
    if inputs and isinstance(inputs[0], Grid):
        return _moved_grid(node, inputs[0], arrays, opset) if len(arrays) == len(inputs) - 1 else None
    if len(arrays) < len(inputs) or node.op not in MOVING | CASTS | COMPUTING:
        return None
    if node.op in COMPUTING | {"Expand"} and any(value is not None and np.any(value == BATCH) for value in arrays):
        raise UnsupportedOpError(f"{node.shown} computes with the batch size, which is not part of a program")
    return _evaluated(node, arrays, opset)


def _moved_grid(
    node: FileNode, grid: Grid, others: Sequence[np.ndarray | None], opset: int
) -> Sequence[Constant] | None:
    if node.op in CASTS:
        return [grid]
    if node.op == "Shape":
        return _evaluated(node, [grid.codes], opset)
    if node.op not in MOVING:
        return None
    codes = _evaluated(node, [grid.codes, *others], opset)
    exponents = _evaluated(node, [grid.exponents, *others], opset)
    factors = None if grid.factors is None else _evaluated(node, [grid.factors, *others], opset)[0]
    return [Grid(codes[0], exponents[0], grid.format, factors, grid.constant)]


def _evaluated(node: FileNode, inputs: Sequence[np.ndarray | None], opset: int) -> list[np.ndarray]:
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    attributes: dict[str, Any] = {
        key: helper.make_tensor(
            key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape, value.tobytes(), raw=True
        )
        if isinstance(value, np.ndarray)
        else value
        for key, value in node.attributes.items()
    }
    proto = helper.make_node(node.op, names, [f"o{k}" for k in range(len(node.outputs))], **attributes)
    feeds = {name: value for name, value in zip(names, inputs, strict=True) if name}
    try:
        return [np.asarray(value) for value in ReferenceEvaluator(proto, opsets={"": opset}).run(None, feeds)]
    except Exception as error:  # the evaluator raises whatever its numpy code meets
        raise ModelError(f"{node.shown} cannot be evaluated on its constants: {error}") from error
