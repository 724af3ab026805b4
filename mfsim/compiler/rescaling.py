"""What files of others need between quantizers: gains and offsets of any size, and operands on one grid.

A gain relabels the grid, exactly. An offset, and an operand whose scale is no power of two away from that
of the other, is rounded to a grid that is `GUARD_BITS` finer than what it meets, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import fractions, rounded_to
from mfsim.compiler.lowering import Lowering, gain_node
from mfsim.compiler.requantizing import rescaled
from mfsim.errors import UnsupportedOpError
from mfsim.formats import Scale
from mfsim.program import Tensor

GUARD_BITS = 12
"""How much finer the grid of an approximated operand is: its error is at most 2**-13 of a step."""


def gained(
    lowering: Lowering, node: FileNode, k: int, x: Tensor, gains: np.ndarray, axis: int, output: str | None
) -> Tensor:
    """Return x, the activation of input `k`, multiplied by nonzero `gains` along `axis` (-1 for one gain).

    Signs that the product in front has taken into its weights are taken out again. Raises
    `UnsupportedOpError` where signs remain that differ between channels.
    """
    flips = lowering.flips.get(node.inputs[k])
    if flips is not None:
        gains = np.where(flips == 0, 1.0, gains * flips)
    if (gains == 0).any() or len(set(np.sign(gains))) > 1:
        raise UnsupportedOpError(
            "a gain that is 0, or of another sign for some channels, is supported right behind a product only; "
            "fold it into the weights"
        )
    name = x.name
    if gains.flat[0] < 0:
        name, gains = lowering.inner(node, "neg", [name]), -gains
    exact = [Fraction(gain) for gain in gains.reshape(-1).tolist()]
    op, attributes = gain_node(exact, axis)
    if output is None:
        return lowering.builder.tensors[lowering.inner(node, op, [name], attributes)]
    return lowering.builder.tensors[lowering.emit(node, op, [name], attributes, output=output)]


def with_offset(
    lowering: Lowering, node: FileNode, x: Tensor, values: np.ndarray, what: str, op: str = "add"
) -> None:
    """Emit x + values (or x - values), for constant `values` that broadcast against a sample of x."""
    exact = values if values.dtype == object else fractions(values)
    codes, error = rounded_to(exact, _steps(x, values.ndim))
    guard = 0
    if error:
        guard = min(GUARD_BITS, 61 - x.range.bound.bit_length())
        finer = x.scale.moved(-guard)
        if x.scale.axis is not None:
            x = lowering.builder.tensors[rescaled(lowering, node, x, finer)]
        codes, error = rounded_to(exact, _steps(x, values.ndim) / (1 if x.scale == finer else 2**guard))
        lowering.note(node, f"{what} is rounded to 2^-{guard} of the step of `{x.name}`, by at most {error:.2g} of that")
        scale = finer
    else:
        scale = x.scale
    if scale.axis is not None:
        scale = scale.on(scale.axis - 1 - (len(x.shape) - 1 - codes.ndim))
        codes = np.broadcast_to(codes, [n if k == scale.axis else m for k, (n, m) in _sizes(x, codes)])
    constant = lowering.constant(f"{node.outputs[0]}.offset", np.ascontiguousarray(codes), scale)
    lowering.emit(node, op, [x.name, constant])


def _sizes(x: Tensor, codes: np.ndarray) -> enumerate[tuple[int, int]]:
    return enumerate(zip(x.shape[len(x.shape) - codes.ndim :], codes.shape, strict=True))


def _steps(x: Tensor, ndim: int) -> np.ndarray:
    """Return the steps of x, broadcast against constants of `ndim` axes behind the batch."""
    if x.scale.axis is None:
        return np.array(x.scale.steps[0], dtype=object)
    steps = np.array(x.scale.steps, dtype=object)
    behind = len(x.shape) - 1 - x.scale.axis
    if behind >= ndim:
        raise UnsupportedOpError("a constant must have the axis along which the scale of x varies; requantize first")
    return steps.reshape(-1, *[1] * behind)


def on_one_grid(lowering: Lowering, node: FileNode, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the operands with scales that the op can align: equal ones, or powers of two apart."""
    scales = {tensor.scale for tensor in tensors}
    alike = all(s.axis is None for s in scales) and len({s.factors for s in scales}) == 1
    if lowering.strict or len(scales) == 1 or alike:
        return list(tensors)
    whole = [tensor.scale for tensor in tensors if tensor.scale.axis is None]
    finest = min(step for tensor in tensors for step in tensor.scale.steps)
    target = min(whole, key=lambda scale: scale.steps[0]) if whole else Scale.of_steps([finest])
    while target.steps[0] > finest:
        target = target.moved(-1)
    target = target.moved(-GUARD_BITS)
    return [
        tensor
        if tensor.scale.axis is None and tensor.scale.factors == target.factors
        else lowering.builder.tensors[rescaled(lowering, node, tensor, target)]
        for tensor in tensors
    ]
