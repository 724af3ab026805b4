"""Shift, and Div (for mul.py also Mul) by constants: a change of scale, nothing is computed.

In the dialect the constants are positive powers of two; in files of others any numbers but 0.
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import exponents_of
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import gained
from mfsim.errors import UnsupportedOpError


def shift(lowering: Lowering, node: FileNode) -> None:
    """Move the scale by the exponents of the gain."""
    k = 1 if node.op == "Mul" and not lowering.is_activation(node, 0) else 0
    x = lowering.tensor(node, k)
    if lowering.is_activation(node, 1 - k):
        raise UnsupportedOpError("two activations are divided, which no op of the program does")
    gain, axis = along_axis(lowering.array(node, 1 - k, "the gain"), x.shape, "the gain")
    if not lowering.strict:
        gains = gain.astype(np.float64)
        gained(lowering, node, k, x, 1 / gains if node.op == "Div" else gains, axis, node.outputs[0])
        return
    exponents = exponents_of(gain, "the gain")
    if node.op == "Div":
        exponents = -exponents
    lowering.emit(node, "shift", [x.name], {"exponents": tuple(int(e) for e in exponents), "axis": axis})


RULES = {("org.mfsim", "Shift"): shift, ("", "Div"): shift}
