"""Products with constant weights: their grid, their bias, and the signs of a gain behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mfsim import ops
from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.third_party import affine_of
from mfsim.compiler.lower.grid import Grid, fractions, rounded_to
from mfsim.compiler.lower.lowering import Lowering
from mfsim.compiler.lower.operands import along_axis
from mfsim.compiler.lower.rescaling import GUARD_BITS, with_offset
from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Scale
from mfsim.ir.program import Tensor
from mfsim.ops.products import dense_scale
from mfsim.ops.traits import Trait

# Biases: the third input of a dense op, or an Add of a constant right behind a product.
#
# A bias lies on the grid of its accumulator, exactly, or it is an error; in a third-party file it is rounded
# to it, which is noted, or added behind on a finer grid where that would lose more. Behind a product it is taken in only if nothing else reads the product and if it
# lies on that grid; else the Add stays an op of its own.


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

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        The product.
    k : int or None
        Index of its bias; None if it has no such input.
    shape : tuple of int
        Shape of its output.
    axis : int
        Axis of its output channels.
    scale : Scale
        Scale of its accumulator, along axis 0.

    Returns
    -------
    Bias or None
        The bias on the accumulator's scale.
    str
        Name of the value that the product writes.

    Raises
    ------
    ShapeError, FormatError
        If input `k` does not suit the product.
    """
    bias = None if k is None else own_bias(lowering, node, k, scale, shape[axis])
    return (bias, node.outputs[0]) if bias is not None else following_bias(lowering, node, shape, axis, scale)


def own_bias(lowering: Lowering, node: FileNode, k: int, scale: Scale, outputs: int) -> Bias | None:
    """Return the bias in input `k` of a dense op, or None if it has none.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        The product.
    k : int
        Index of its bias.
    scale : Scale
        Scale of its accumulator, along axis 0.
    outputs : int
        Number of output channels.

    Returns
    -------
    Bias or None
        The bias on the accumulator's scale.

    Raises
    ------
    ShapeError
        If it has not one value, or one for each output.
    FormatError
        If it does not lie on the accumulator's scale.
    """
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

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        The product.
    shape : tuple of int
        Shape of its output.
    axis : int
        Axis of its output channels.
    scale : Scale
        Scale of its accumulator, along axis 0.

    Returns
    -------
    Bias or None
        The bias on the accumulator's scale.
    str
        Name of the value that the product writes.
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


# Products with constant weights: their grid, their bias, and the signs of a gain behind them.


def accumulator_scale(x: Tensor, w: Scale, joined: bool) -> Scale:
    """Return the accumulator's scale, along axis 0: the product of both, or the finer one (`joined`).

    Parameters
    ----------
    x : Tensor
        Activation.
    w : Scale
        Scale of the weights.
    joined : bool
        Whether both operands lie on one grid.

    Returns
    -------
    Scale
        One step, or one for each output.
    """
    if not joined:
        return dense_scale(x.scale, w, 0)
    ex = x.scale.exponent
    exponents = tuple(min(ex, ew) for ew in w.powers)
    return Scale(exponents, None if len(exponents) == 1 else 0)


def emit_product(
    lowering: Lowering,
    node: FileNode,
    op: str,
    x: Tensor,
    weights: Grid,
    shape: tuple[int, ...],
    attributes: Mapping[str, object],
    *,
    axes: tuple[int, int],
    bias_input: int | None = None,
) -> None:
    """Emit the product `op` of x and `weights`, with its bias.

    Parameters
    ----------
    shape : of the result
    axes : of the outputs, in the result and in the weights
    bias_input : the input that may hold the bias; None if only an Add behind may
    """
    axis, traits = axes[0], ops.get(op).traits
    dense = Trait.MULTIPLY_ACCUMULATE in traits
    scale = accumulator_scale(x, weights.scale, Trait.JOINS_GRIDS in traits)
    bias, output = find_bias(lowering, node, bias_input, shape, axis, scale)
    signs = output_signs(lowering, output, shape[axis]) if dense else None
    codes, word = weights.codes, weights.format
    if signs is not None:
        codes = codes * signs.reshape([-1 if k == axes[1] else 1 for k in range(codes.ndim)])
        fits = not codes.size or word.holds(int(codes.min()), int(codes.max()))
        inputs = [x.name, lowering.constant(node.inputs[1], codes, weights.scale, word if fits else None)]
    else:
        inputs = [x.name, lowering.constant(node.inputs[1], codes, weights.scale, word)]
    if bias is not None and bias.values is not None:
        made = lowering.builder.tensors[lowering.inner(node, op, inputs, attributes)]
        values = bias.values if signs is None else bias.values * signs
        values = values.reshape(-1, *[1] * (len(shape) - 1 - axis))
        with_offset(lowering, replace(node, outputs=(output,)), made, values, f"the bias `{bias.name}`")
        return
    if bias is not None:
        start = bias.codes if signs is None else bias.codes * signs
        inputs.append(lowering.constant(bias.name, start, scale))
    lowering.emit(node, op, inputs, attributes, output=output)


# Signs of gains behind a product: taken into its weights, so that only positive gains are left to relabel.


def output_signs(lowering: Lowering, output: str, outputs: int) -> np.ndarray | None:
    """Return -1, 0 or 1 for each output of a product that writes `output`, as the gain behind it asks; None if all are 1.

    The gain is a BatchNormalization, Mul or Div with constants that alone reads the product, perhaps
    transposed. It is told in `lowering.flips`.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    output : str
        Value that the product writes.
    outputs : int
        Number of its output channels.

    Returns
    -------
    int64 array, shape (outputs,), or None
        Signs; None also for a file in the dialect.
    """
    if lowering.strict:
        return None
    users = lowering.graph.consumers.get(output, ())
    if output in lowering.graph.outputs or len(users) != 1 or users[0].domain:
        return None
    (user,) = users
    if user.op == "Transpose":
        return output_signs(lowering, user.outputs[0], outputs)
    gains = _gains(lowering, user, output)
    if gains is None or gains.size not in (1, outputs):
        return None
    signs = np.broadcast_to(np.sign(gains.reshape(-1)), (outputs,)).astype(np.int64)
    if (signs == 1).all():
        return None
    lowering.flips[output] = signs if gains.size > 1 else signs[:1]
    return signs


def _gains(lowering: Lowering, user: FileNode, output: str) -> np.ndarray | None:
    if user.op == "BatchNormalization":
        arrays = [_constant(lowering, name) for name in user.inputs[1:5]]
        known = [array for array in arrays if array is not None]
        return affine_of(known, user.number("epsilon", 1e-5))[0] if len(known) == 4 else None
    if user.op not in ("Mul", "Div") or len(user.inputs) != 2 or (user.op == "Div" and user.inputs[0] != output):
        return None
    return _constant(lowering, user.inputs[1 - user.inputs.index(output)])


def _constant(lowering: Lowering, name: str) -> np.ndarray | None:
    value = lowering.values.get(name)
    return value.values() if isinstance(value, Grid) else value if isinstance(value, np.ndarray) else None
