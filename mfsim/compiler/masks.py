"""The mask of a normaliser: a constant of 0 and 1 for the last two axes, or an activation of one bit."""

from __future__ import annotations

import numpy as np

from mfsim.compiler import stated
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Scale
from mfsim.program import Tensor


def mask_input(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> str:
    """Return the name of the mask of x, input `k`; a constant must not vary along the batch or axes before the last two."""
    if lowering.is_activation(node, k):
        return lowering.tensor(node, k).name
    codes = stated.integers(lowering, node, k, "the mask")
    wrong = codes[(codes != 0) & (codes != 1)]
    if wrong.size:
        raise FormatError(f"the mask must hold 0 and 1, not {int(wrong[0])}")
    shape = codes.shape[-2:] if len(x.shape) > 2 else codes.shape[-1:]
    if codes.ndim < 1 or codes.size != int(np.prod(shape)):
        raise ShapeError(f"the constant mask {codes.shape} must be the same for every sample of x {x.shape}")
    return lowering.constant(node.inputs[k], codes.reshape(shape), Scale())
