"""SoftThreshold: the threshold is a constant on the scale of x, one or one for each index of one axis."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError
from mfsim.formats import Scale


def soft_threshold(lowering: Lowering, node: FileNode) -> None:
    """Emit soft_threshold with the codes of the threshold."""
    x = lowering.tensor(node, 0)
    values, axis = along_axis(lowering.array(node, 1, "the threshold"), x.shape, "the threshold")
    if (values < 0).any():
        raise FormatError(f"the threshold must be at least 0, not {float(values.min())!r}")
    scale = x.scale
    if scale.axis is not None and axis != scale.axis:
        raise FormatError(f"the threshold must run along axis {scale.axis}, as the scale of x does; requantize x first")
    exponents = np.array(scale.along(len(values)))
    codes = lowering.on_grid(
        node, 1, exponents.reshape(lowering.array(node, 1, "the threshold").shape), "the threshold"
    )
    t = lowering.constant(node.inputs[1], codes.reshape(-1), Scale(scale.exponents, None if scale.axis is None else 0))
    lowering.emit(node, "soft_threshold", [x.name, t], {"axis": axis})


RULES = {("org.mfsim", "SoftThreshold"): soft_threshold}
