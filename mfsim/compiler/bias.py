"""Biases: the third input of a dense op, or an Add of a constant right behind a product.

A bias lies on the grid of its accumulator, exactly, or it is an error; in a file of others it is rounded
to it, which is noted. Behind a product it is taken in only if nothing else reads the product and if it
lies on that grid; else the Add stays an op of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Lowering
from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Scale
from mfsim.ops.products import dense_scale
from mfsim.program import Tensor


def accumulator_scale(x: Tensor, w: Scale, joined: bool) -> Scale:
    """Return the accumulator's scale, along axis 0: the product of both, or for MF (`joined`) the finer one."""
    if not joined:
        return dense_scale(x.scale, w, 0)
    ex = x.scale.exponent
    exponents = tuple(min(ex, ew) for ew in w.powers)
    return Scale(exponents, None if len(exponents) == 1 else 0)


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias: the name of its value in the file, and its codes on the grid of the accumulator."""

    name: str
    codes: np.ndarray


def weight_constants(
    lowering: Lowering,
    node: FileNode,
    weights: Grid,
    bias: Bias | None,
    scale: Scale,
    axis: int,
    signs: np.ndarray | None,
) -> list[str]:
    """Return the constants of a product: weights, with their outputs along `axis`, and the bias if there is one.

    `signs` multiplies each output; then the words are those that the products need.
    """
    codes, word = weights.codes, weights.format
    if signs is not None:
        codes = codes * signs.reshape([-1 if k == axis else 1 for k in range(codes.ndim)])
        word = weights.format if weights.format.holds(int(codes.min()), int(codes.max())) else None
    constants = [lowering.constant(node.inputs[1], codes, weights.scale, word)]
    if bias is not None:
        start = bias.codes if signs is None else bias.codes * signs
        constants.append(lowering.constant(bias.name, start, scale))
    return constants


def product_bias(
    lowering: Lowering, node: FileNode, k: int, shape: tuple[int, ...], axis: int, scale: Scale
) -> tuple[Bias | None, str]:
    """Return the bias in input `k` of a dense op, else that of an Add right behind; and what the product writes."""
    bias = own_bias(lowering, node, k, scale, shape[axis])
    return (bias, node.outputs[0]) if bias is not None else following_bias(lowering, node, shape, axis, scale)


def own_bias(lowering: Lowering, node: FileNode, k: int, scale: Scale, outputs: int) -> Bias | None:
    """Return the bias in input `k` of a dense op, or None if it has none."""
    value = lowering.optional_array(node, k, "the bias")
    if value is None:
        return None
    if value.size not in (1, outputs) or value.shape[-1:] not in ((), (1,), (outputs,)):
        raise ShapeError(f"the bias `{node.inputs[k]}` must have the shape ({outputs},), not {value.shape}")
    codes = lowering.near_grid(node, k, np.array(scale.steps_along(outputs), dtype=object), "the bias")
    return Bias(node.inputs[k], codes.reshape(-1))


def following_bias(
    lowering: Lowering, node: FileNode, shape: tuple[int, ...], axis: int, scale: Scale
) -> tuple[Bias | None, str]:
    """Return the bias in an Add behind `node`, or None, and the name of what the product writes.

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
        steps = np.array(scale.steps_along(shape[axis]), dtype=object).reshape(view)
        codes = lowering.near_grid(add, k, steps, "the bias")
    except (FormatError, ShapeError):
        return None, output
    lowering.done.add(add)
    return Bias(add.inputs[k], codes.reshape(-1)), add.outputs[0]
