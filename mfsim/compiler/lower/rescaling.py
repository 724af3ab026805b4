"""What third-party files need between quantizers: gains and offsets of any size, and operands on one grid.

A gain relabels the grid, exactly. An offset, and an operand whose scale is no power of two away from that
of the other, is rounded to a grid that is `GUARD_BITS` finer than what it meets, and noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.grid import exponents_of, fractions, rounded_to
from mfsim.compiler.lower.lowering import Lowering, gain_node
from mfsim.compiler.lower.operands import along_axis
from mfsim.compiler.lower.requantizing import rescaled
from mfsim.errors import FormatError, UnsupportedOpError
from mfsim.ir.formats import Scale
from mfsim.ir.program import Tensor
from mfsim.ops.elementwise.add import OP as ADD
from mfsim.ops.elementwise.clip import OP as CLIP
from mfsim.ops.elementwise.neg import OP as NEG
from mfsim.ops.grid.shift import OP as SHIFT
from mfsim.ops.layout.concat import OP as CONCAT
from mfsim.ops.layout.slice import OP as SLICE

GUARD_BITS = 12
"""How much finer the grid of an approximated operand is: its error is at most 2**-13 of a step."""


def gained(
    lowering: Lowering, node: FileNode, k: int, x: Tensor, gains: np.ndarray, axis: int, output: str | None
) -> Tensor:
    """Return x, the activation of input `k`, multiplied by `gains` along `axis` (-1 for one gain).

    Signs that the product in front has taken into its weights are taken out again. Where signs remain,
    channels are negated, or cleared for a gain of 0.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.
    k : int
        Index of x.
    x : Tensor
        Activation.
    gains : float64 array, shape (size of the axis,) or (1,)
        Finite gains.
    axis : int
        Axis of x, or -1.
    output : str or None
        Value of the file that is written; None for an inner one.

    Returns
    -------
    Tensor
        The result, of the same codes on another scale but for signs.
    """
    flips = lowering.flips.get(node.inputs[k])
    if flips is not None:
        gains = np.where(flips == 0, 1.0, gains * flips)
    name = _signed(lowering, node, x, np.sign(gains).astype(np.int64), axis)
    gains = np.where(gains == 0, 1.0, np.abs(gains))
    exact = [Fraction(gain) for gain in gains.reshape(-1).tolist()]
    op, attributes = gain_node(exact, axis)
    if output is None:
        return lowering.builder.tensors[lowering.inner(node, op, [name], attributes)]
    return lowering.builder.tensors[lowering.emit(node, op, [name], attributes, output=output)]


def _signed(lowering: Lowering, node: FileNode, x: Tensor, signs: np.ndarray, axis: int) -> str:
    """Return x times -1, 0 or 1 for each index of `axis`: runs of channels with one sign are cut out, and joined again."""
    signs = signs.reshape(-1)
    starts = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist()]
    parts = []
    for start, end in zip(starts, [*starts[1:], len(signs)], strict=True):
        part = x.name
        if len(starts) > 1:
            cut = {"axes": (axis,), "starts": (start,), "ends": (end,), "steps": (1,)}
            part = lowering.inner(node, SLICE.name, [part], cut)
        if signs[start] < 0:
            part = lowering.inner(node, NEG.name, [part])
        elif signs[start] == 0:
            part = lowering.inner(node, CLIP.name, [part], {"lo": 0, "hi": 0})
        parts.append(part)
    return parts[0] if len(parts) == 1 else lowering.inner(node, CONCAT.name, parts, {"axis": axis})


def with_offset(
    lowering: Lowering, node: FileNode, x: Tensor, values: np.ndarray, what: str, op: str = ADD.name
) -> None:
    """Emit x + values (or x - values), for constant `values` that broadcast against a sample of x.

    Values off the grid of x are rounded on a finer one, and that is noted.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.
    x : Tensor
        Activation.
    values : array of real or of Fraction
        Offset, without batch axis.
    what : str
        What it is, for the note.
    op : {"add", "sub"}
        Op of the program.
    """
    exact = values if values.dtype == object else fractions(values)
    codes, error = rounded_to(exact, _steps(x, values.ndim))
    guard = 0
    if error:
        guard = min(GUARD_BITS, 61 - x.range.bound.bit_length())
        finer = x.scale.moved(-guard)
        if x.scale.axis is not None:
            x = lowering.builder.tensors[rescaled(lowering, node, x, finer)]
        codes, error = rounded_to(exact, _steps(x, values.ndim) / (1 if x.scale == finer else 2**guard))
        lowering.note(
            node, f"{what} is rounded to 2^-{guard} of the step of `{x.name}`, by at most {error:.2g} of that"
        )
        scale = finer
    else:
        scale = x.scale
    if scale.axis is not None:
        scale = scale.on(scale.axis - 1 - (len(x.shape) - 1 - codes.ndim))
        codes = np.broadcast_to(codes, [n if k == scale.axis else m for k, (n, m) in _sizes(x, codes)])
    constant = lowering.constant(f"{node.outputs[0]}.offset", np.ascontiguousarray(codes), scale)
    lowering.emit(node, op, [x.name, constant])


def near_code(lowering: Lowering, node: FileNode, x: Tensor, value: np.ndarray, what: str) -> int:
    """Return the code of one real number on the one scale of x, rounded; `what` is noted if it is not exact.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.
    x : Tensor
        Activation with one scale.
    value : array of real
        The number, in its first entry.
    what : str
        What it is, for message and note.

    Returns
    -------
    int
        Code, ties to even.

    Raises
    ------
    FormatError
        If x has one scale for each channel.
    """
    if x.scale.axis is not None:
        raise FormatError(f"{what} needs one scale for the whole tensor, not one for each channel; requantize first")
    codes, error = rounded_to(fractions(value.reshape(-1)[:1]), np.array(x.scale.steps[:1], dtype=object))
    if error:
        lowering.note(node, f"{what} is rounded to the grid of `{x.name}`, by {error:.2g} of a step")
    return int(codes[0])


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
    """Return the operands with scales that the op can align: equal ones, or powers of two apart.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Node of the file.
    tensors : sequence of Tensor
        Operands.

    Returns
    -------
    list of Tensor
        The operands, rescaled where it is needed; unchanged for a file in the dialect.
    """
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


def change_scale(lowering: Lowering, node: FileNode) -> None:
    """Lower a product or quotient with a constant gain: a change of scale, nothing is computed.

    Parameters
    ----------
    lowering : Lowering
        Lowering of the file.
    node : FileNode
        Mul or Div.

    Raises
    ------
    UnsupportedOpError
        If both operands are activations.
    FormatError
        If the file is in the dialect and a gain is no power of two.
    ShapeError
        If the gain does not run along one axis.
    """
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
    lowering.emit(node, SHIFT.name, [x.name], {"exponents": tuple(int(e) for e in exponents), "axis": axis})
