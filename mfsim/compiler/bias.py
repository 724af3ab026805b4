"""Biases: the third input of a dense op, or an Add of a constant right behind a product.

A bias lies on the grid of its accumulator, exactly, or it is an error; in a file of others it is rounded
to it, which is noted, or added behind on a finer grid where that would lose more. Behind a product it is taken in only if nothing else reads the product and if it
lies on that grid; else the Add stays an op of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mfsim.compiler.broadcast import along_axis
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid, fractions, rounded_to
from mfsim.compiler.lowering import Lowering
from mfsim.compiler.rescaling import GUARD_BITS
from mfsim.errors import FormatError, ShapeError
from mfsim.formats import Scale


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias: the name of its value in the file, and its codes on the grid of the accumulator.

    `values` are real values where that grid is too coarse: then they are added behind the product.
    """

    name: str
    codes: np.ndarray
    values: np.ndarray | None = None


def find_bias(
    lowering: Lowering, node: FileNode, k: int | None, shape: tuple[int, ...], axis: int, scale: Scale
) -> tuple[Bias | None, str]:
    """Return the bias in input `k` of a product, else that of an Add right behind; and what the product writes.

    `shape` is the product's output, `axis` its output channels, and `scale` that of its accumulator, along axis 0.
    """
    bias = None if k is None else own_bias(lowering, node, k, scale, shape[axis])
    return (bias, node.outputs[0]) if bias is not None else following_bias(lowering, node, shape, axis, scale)


def own_bias(lowering: Lowering, node: FileNode, k: int, scale: Scale, outputs: int) -> Bias | None:
    """Return the bias in input `k` of a dense op, or None if it has none."""
    value = lowering.optional_array(node, k, "the bias")
    if value is None:
        return None
    if value.size not in (1, outputs) or value.shape[-1:] not in ((), (1,), (outputs,)):
        raise ShapeError(f"the bias `{node.inputs[k]}` must have the shape ({outputs},), not {value.shape}")
    return _fitted(lowering, node, k, scale, (outputs,))


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
        view = tuple(shape[axis] if i == axis else 1 for i in range(len(shape)))
        bias = _fitted(lowering, add, k, scale, view)
    except (FormatError, ShapeError):
        return None, output
    lowering.done.add(add)
    return bias, add.outputs[0]


def _fitted(lowering: Lowering, node: FileNode, k: int, scale: Scale, view: tuple[int, ...]) -> Bias:
    """Return the bias of constant input `k` for an accumulator of `scale`, whose outputs have the shape `view`."""
    name, outputs = node.inputs[k], math.prod(view)
    if lowering.strict:
        powers = Scale(scale.powers, scale.axis)
        exponents = np.array(powers.along(outputs), dtype=np.int64)
        return Bias(name, lowering.on_grid(node, k, exponents.reshape(view), "the bias").reshape(-1))
    steps = np.array(scale.steps_along(outputs), dtype=object).reshape(view)
    value = lowering.value(node, k)
    values = value.exact_values() if isinstance(value, Grid) else fractions(lowering.array(node, k, "the bias"))
    codes, error = rounded_to(values, steps)
    late = error > 2.0**-GUARD_BITS
    if error and not late:
        lowering.note(node, f"the bias `{name}` is rounded to its accumulator's grid, by at most {error:.2g} of a step")
    return Bias(name, codes.reshape(-1), np.broadcast_to(values, steps.shape).reshape(-1) if late else None)
