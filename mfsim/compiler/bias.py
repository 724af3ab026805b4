"""Biases: the third input of a dense op, or an Add of a constant right behind a product.

A bias lies on the grid of its accumulator, exactly, or it is an error. Behind a product it is taken in
only if nothing else reads the product and if it lies on that grid; else the Add stays an op of its own.
"""

from __future__ import annotations

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Scale
from mfsim.program import Tensor


def accumulator_scale(x: Tensor, w: Scale, joined: bool) -> Scale:
    """Return the accumulator's scale, along axis 0: the product of both, or for MF (`joined`) the finer one."""
    ex = x.scale.exponent
    exponents = tuple(min(ex, ew) if joined else ex + ew for ew in w.exponents)
    return Scale(exponents, None if len(exponents) == 1 else 0)


def own_bias(lowering: Lowering, node: FileNode, k: int, scale: Scale, outputs: int) -> str | None:
    """Return the constant made of the bias in input `k` of a dense op, or None if it has none."""
    value = lowering.optional_array(node, k, "the bias")
    if value is None:
        return None
    if value.size not in (1, outputs) or value.shape[-1:] not in ((), (1,), (outputs,)):
        raise ShapeError(f"the bias `{node.inputs[k]}` must have the shape ({outputs},), not {value.shape}")
    codes = lowering.on_grid(node, k, np.array(scale.along(outputs)), "the bias")
    return lowering.constant(node.inputs[k], codes.reshape(-1), scale)


def following_bias(
    lowering: Lowering, node: FileNode, shape: tuple[int, ...], axis: int, scale: Scale
) -> tuple[str | None, str]:
    """Return the constant made of an Add behind `node`, or None, and the name of what the product writes.

    `shape` is the product's output and `axis` its output channels.
    """
    output = node.outputs[0]
    users = lowering.graph.consumers.get(output, ())
    if output in lowering.graph.outputs or len(users) != 1 or (users[0].domain, users[0].op) != ("", "Add"):
        return None, output
    (add,) = users
    k = 1 - add.inputs.index(output)
    if len(add.inputs) != 2 or not isinstance(lowering.values.get(add.inputs[k]), (Grid, np.ndarray)):
        return None, output
    try:
        _, along = along_axis(lowering.array(add, k, "the bias"), shape, "the bias")
        if along not in (-1, axis):
            return None, output
        view = [-1 if i == axis else 1 for i in range(len(shape))]
        codes = lowering.on_grid(add, k, np.array(scale.along(shape[axis])).reshape(view), "the bias")
    except (FormatError, ShapeError):
        return None, output
    lowering.done.add(add)
    return lowering.constant(add.inputs[k], codes.reshape(-1), scale), add.outputs[0]
