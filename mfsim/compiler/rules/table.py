"""Table: a stated function of one code; table and first code are integers on the scales that are given."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exponents_of
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError
from mfsim.formats import Scale


def table(lowering: Lowering, node: FileNode) -> None:
    """Emit table; the stated scale of x must be its scale."""
    x = lowering.tensor(node, 0)
    names = ("the scale of x", "the table", "the first code", "the scale of the table")
    x_scale, entries, first, y_scale = (lowering.array(node, k + 1, what) for k, what in enumerate(names))
    stated = Scale.of(_one(exponents_of(x_scale, names[0]), names[0]))
    if stated != x.scale:
        raise FormatError(f"{names[0]} must be {x.scale}, not {stated}")
    codes = _integers(entries, names[1])
    if codes.ndim != 1:
        raise FormatError(f"{names[1]} must have one axis, not {codes.ndim}")
    scale = Scale.of(_one(exponents_of(y_scale, names[3]), names[3]))
    constant = lowering.constant(node.inputs[2], codes, scale)
    lowering.emit(node, "table", [x.name, constant], {"first": _one(_integers(first, names[2]), names[2])})


def _one(values: np.ndarray, what: str) -> int:
    if values.size != 1:
        raise FormatError(f"{what} must be one number, not of the shape {values.shape}")
    return int(values.reshape(-1)[0])


def _integers(values: np.ndarray, what: str) -> np.ndarray:
    codes = np.asarray(values).astype(np.int64)
    if (codes != values).any():
        raise FormatError(f"{what} must hold integers, not {float(values[codes != values].reshape(-1)[0])!r}")
    return codes


RULES = {("org.mfsim", "Table"): table}
