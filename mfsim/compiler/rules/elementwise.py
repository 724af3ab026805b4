"""Relu, Neg, Abs, Sign: one op of the program each. Identity and casts between float types: nothing."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import FLOAT_TYPES, Lowering
from mfsim.errors import ModelError, UnsupportedOpError

UNARY = {"Relu": ("relu", {}), "Neg": ("neg", {}), "Abs": ("abs", {}), "Sign": ("sign", {"sign_zero": 0})}


def unary(lowering: Lowering, node: FileNode) -> None:
    """Emit the op and the attributes of `UNARY`."""
    op, attributes = UNARY[node.op]
    lowering.emit(node, op, [lowering.tensor(node, 0).name], attributes)


def identity(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input."""
    lowering.alias(node, lowering.tensor(node, 0).name)


def cast(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, if the type is a float one."""
    if node.integer("to", 0) not in FLOAT_TYPES:
        raise UnsupportedOpError("an activation can only be cast to a float type; a Quant says how it is rounded")
    identity(lowering, node)


def cast_like(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, a plain constant as float32: the type of every activation."""
    value = lowering.value(node, 0)
    if value is None:
        raise ModelError("the value is missing")
    like = lowering.value(node, 1)
    if isinstance(like, np.ndarray) and like.dtype.kind != "f":
        raise UnsupportedOpError("an activation can only be cast to a float type; a Quant says how it is rounded")
    lowering.alias(node, value.astype(np.float32) if isinstance(value, np.ndarray) else value)


def dropout(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, unless the node is told to train."""
    training = lowering.optional_array(node, 2, "the mode")
    if training is not None and training.any():
        raise UnsupportedOpError("`training_mode` must be false; export the model in eval mode")
    identity(lowering, node)


FOREIGN_RULES = {("", "Dropout"): dropout}
RULES = {("", op): unary for op in UNARY} | {
    ("", "Identity"): identity,
    ("", "Cast"): cast,
    ("", "CastLike"): cast_like,
}
