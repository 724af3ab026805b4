"""What a node of an integer function states beside its input: scales, integers and derived tables."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exponents_of
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError
from mfsim.formats import Scale
from mfsim.program import Tensor


def one(values: np.ndarray, what: str) -> int:
    """Return the single integer that `values` holds."""
    if values.size != 1:
        raise FormatError(f"{what} must be one number, not of the shape {values.shape}")
    return int(values.reshape(-1)[0])


def integers(lowering: Lowering, node: FileNode, k: int, what: str) -> np.ndarray:
    """Return constant input `k`, which must hold integers, as int64."""
    values = lowering.array(node, k, what)
    codes = np.asarray(values).astype(np.int64)
    if (codes != values).any():
        raise FormatError(f"{what} must hold integers, not {float(values[codes != values].reshape(-1)[0])!r}")
    return codes


def integer(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    """Return constant input `k`, which must be one integer."""
    return one(integers(lowering, node, k, what), what)


def table(lowering: Lowering, node: FileNode, k: int, what: str) -> np.ndarray:
    """Return constant input `k`, which must be one row of integers."""
    codes = integers(lowering, node, k, what)
    if codes.ndim != 1:
        raise FormatError(f"{what} must have one axis, not {codes.ndim}")
    return codes


def power(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    """Return e of constant input `k`, which must be one number 2**e."""
    return one(exponents_of(lowering.array(node, k, what), what), what)


def scale(lowering: Lowering, node: FileNode, k: int, what: str) -> Scale:
    """Return the scale that constant input `k` states."""
    return Scale.of(power(lowering, node, k, what))


def scaled_input(lowering: Lowering, node: FileNode) -> Tensor:
    """Return activation 0, whose scale input 1 must state."""
    x, stated = lowering.tensor(node, 0), scale(lowering, node, 1, "the scale of x")
    if stated != x.scale:
        raise FormatError(f"the scale of x must be {x.scale}, not {stated}")
    return x
