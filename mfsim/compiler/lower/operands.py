"""Operands of a rule: what a node states beside its input, masks, constants that broadcast, windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.grid import Grid, exponents_of
from mfsim.compiler.lower.lowering import Lowering
from mfsim.errors import FormatError, ShapeError, UnsupportedOpError
from mfsim.ir.formats import Scale
from mfsim.ir.program import Tensor

# What a node of an integer function states beside its input: scales, integers and derived tables.


def one(values: np.ndarray, what: str) -> int:
    """Return the single integer that `values` holds.

    Parameters
    ----------
    values : array of integers
    what : name of the values, for messages

    Returns
    -------
    int

    Raises
    ------
    FormatError
        If there is not exactly one value.
    """
    if values.size != 1:
        raise FormatError(f"{what} must be one number, not of the shape {values.shape}")
    return int(values.reshape(-1)[0])


def integers(lowering: Lowering, node: FileNode, k: int, what: str) -> np.ndarray:
    """Return constant input `k`, which must hold integers, as int64.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages

    Returns
    -------
    int64 array, shape as in the file

    Raises
    ------
    FormatError
        If a value is no integer.
    """
    values = lowering.array(node, k, what)
    codes = np.asarray(values).astype(np.int64)
    if (codes != values).any():
        raise FormatError(f"{what} must hold integers, not {float(values[codes != values].reshape(-1)[0])!r}")
    return codes


def stated_integer(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    """Return constant input `k`, which must be one integer.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages

    Returns
    -------
    int

    Raises
    ------
    FormatError
        If it is not one integer.
    """
    return one(integers(lowering, node, k, what), what)


def stated_table(lowering: Lowering, node: FileNode, k: int, what: str) -> np.ndarray:
    """Return constant input `k`, which must be one row of integers.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages

    Returns
    -------
    int64 array, shape (n,)

    Raises
    ------
    FormatError
        If a value is no integer, or there is not exactly one axis.
    """
    codes = integers(lowering, node, k, what)
    if codes.ndim != 1:
        raise FormatError(f"{what} must have one axis, not {codes.ndim}")
    return codes


def stated_power(lowering: Lowering, node: FileNode, k: int, what: str) -> int:
    """Return e of constant input `k`, which must be one number 2**e.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages

    Returns
    -------
    int, the exponent e

    Raises
    ------
    FormatError
        If it is not one power of two.
    """
    return one(exponents_of(lowering.array(node, k, what), what), what)


def stated_scale(lowering: Lowering, node: FileNode, k: int, what: str) -> Scale:
    """Return the scale that constant input `k` states.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages

    Returns
    -------
    Scale, 2**e for the whole tensor

    Raises
    ------
    FormatError
        If it is not one power of two.
    """
    return Scale.of(stated_power(lowering, node, k, what))


def scaled_input(lowering: Lowering, node: FileNode) -> Tensor:
    """Return activation 0, whose scale input 1 must state.

    Parameters
    ----------
    lowering, node : the values of the file, and a node of an integer function

    Returns
    -------
    Tensor of the program

    Raises
    ------
    FormatError
        If the stated scale differs.
    """
    x, stated = lowering.tensor(node, 0), stated_scale(lowering, node, 1, "the scale of x")
    if stated != x.scale:
        raise FormatError(f"the scale of x must be {x.scale}, not {stated}")
    return x


# The mask of a normaliser: a constant of 0 and 1 for the last two axes, or an activation of one bit.


def mask_input(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> str:
    """Return the name of the mask of x, input `k`; a constant must not vary along the batch or axes before the last two.

    Parameters
    ----------
    lowering, node, k : the values of the file, a node, and the index of its input
    x : tensor that is masked, with batch axis

    Returns
    -------
    str, name of a tensor of the program

    Raises
    ------
    FormatError
        If a constant holds anything but 0 and 1.
    ShapeError
        If it varies along the batch or an axis in front of the last two.
    """
    if lowering.is_activation(node, k):
        return lowering.tensor(node, k).name
    codes = integers(lowering, node, k, "the mask")
    wrong = codes[(codes != 0) & (codes != 1)]
    if wrong.size:
        raise FormatError(f"the mask must hold 0 and 1, not {int(wrong[0])}")
    shape = codes.shape[-2:] if len(x.shape) > 2 else codes.shape[-1:]
    if codes.ndim < 1 or codes.size != int(np.prod(shape)):
        raise ShapeError(f"the constant mask {codes.shape} must be the same for every sample of x {x.shape}")
    return lowering.constant(node.inputs[k], codes.reshape(shape), Scale())


# Constants that broadcast against an activation: along one axis, or as they are.


def along_axis(values: np.ndarray, shape: tuple[int, ...], what: str) -> tuple[np.ndarray, int]:
    """Return constant `values` as a vector and the axis of `shape` that it runs along, -1 for one value.

    Parameters
    ----------
    values : array that broadcasts against `shape`
    shape : shape of the activation, with batch axis
    what : name of the constant, for messages

    Returns
    -------
    (array of one axis, int)

    Raises
    ------
    ShapeError
        If the values do not broadcast against `shape`, or differ along the batch or two axes.
    """
    without_batch(values, shape, what)
    axes = [axis - values.ndim + len(shape) for axis, size in enumerate(values.shape) if size > 1]
    if len(axes) > 1:
        raise ShapeError(
            f"{what} must be one number, or one for each index of one axis, not of the shape {values.shape}"
        )
    return values.reshape(-1), axes[0] if axes else -1


def without_batch(values: np.ndarray, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Return constant `values` without batch axis; they must broadcast against `shape` and leave it as it is.

    Parameters
    ----------
    values : array of as many axes as `shape` or fewer
    shape : shape of the activation, with batch axis
    what : name of the constant, for messages

    Returns
    -------
    array, fewer axes than `shape`

    Raises
    ------
    ShapeError
        If the values do not broadcast, or vary along the batch.
    """
    padded = (1,) * (len(shape) - values.ndim) + values.shape
    fits = len(padded) == len(shape) and padded[0] == 1
    if not fits or any(n not in (1, m) for n, m in zip(padded[1:], shape[1:], strict=True)):
        raise ShapeError(
            f"{what} of the shape {values.shape} does not broadcast against {('batch', *shape[1:])}".replace("'", "")
        )
    return values.reshape(values.shape[1:]) if values.ndim == len(shape) else values


# Windows over planes, as Conv and the pools state them.


def window(node: FileNode, kernel: Sequence[int] = (), size: Sequence[int] | None = None) -> dict[str, tuple[int, ...]]:
    """Return kernel, strides, pads (top, left, bottom, right) and dilations of a 2-D window.

    `size` is that of the plane, where a third-party file may leave the pads to `auto_pad`.

    Parameters
    ----------
    node : convolution or pool
    kernel : rows and columns of the weights; empty for a pool
    size : rows and columns of the plane, or None

    Returns
    -------
    dict of attribute name to tuple of int

    Raises
    ------
    UnsupportedOpError
        If sizes follow from `auto_pad` SAME or from `ceil_mode`.
    ShapeError
        If the window has not two axes, or is not that of the weights (`kernel`).
    """
    given = node.integers("kernel_shape", kernel)
    if len(given) != 2 or (kernel and given != tuple(kernel)):
        raise ShapeError(
            f"`kernel_shape` must be two ints{f' equal to {tuple(kernel)}' if kernel else ''}, not {given}"
        )
    auto_pad = node.text("auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "VALID", *(("SAME_UPPER", "SAME_LOWER") if size else ())):
        raise UnsupportedOpError(f"`auto_pad` must be NOTSET or VALID, not {node.text('auto_pad', '')}; state the pads")
    if node.integer("ceil_mode", 0):
        raise UnsupportedOpError("`ceil_mode` must be 0; pad the input instead")
    made = {
        "kernel": given,
        "strides": node.integers("strides", (1, 1)),
        "pads": node.integers("pads", (0, 0, 0, 0)),
        "dilations": node.integers("dilations", (1, 1)),
    }
    for name, count in (("strides", 2), ("pads", 4), ("dilations", 2)):
        if len(made[name]) != count:
            raise ShapeError(f"`{name}` must be {count} ints, not {made[name]}")
    if size and auto_pad.startswith("SAME"):
        made["pads"] = _same(size, made, auto_pad == "SAME_UPPER")
    return made


def _same(size: Sequence[int], made: dict[str, tuple[int, ...]], upper: bool) -> tuple[int, ...]:
    """Return the pads with which ceil(size / stride) windows fit, the odd one behind if `upper`."""
    before, behind = [], []
    for n, kernel, stride, dilation in zip(size, made["kernel"], made["strides"], made["dilations"], strict=True):
        total = max((-(-n // stride) - 1) * stride + dilation * (kernel - 1) + 1 - n, 0)
        before.append(total // 2 if upper else total - total // 2)
        behind.append(total - before[-1])
    return (*before, *behind)


def plane(size: Sequence[int], kernel: Sequence[int], geometry: dict[str, tuple[int, ...]]) -> tuple[int, int]:
    """Return rows and columns of what a window leaves of a plane.

    Parameters
    ----------
    size, kernel : rows and columns of the plane, without pads, and of the window
    geometry : strides, pads and dilations, as from `window`

    Returns
    -------
    (int, int), numbers of windows down and across
    """
    strides, pads, dilations = geometry["strides"], geometry["pads"], geometry["dilations"]
    rows, columns = (
        (size[k] + pads[k] + pads[k + 2] - dilations[k] * (kernel[k] - 1) - 1) // strides[k] + 1 for k in range(2)
    )
    return rows, columns


# LayerNorm, RMSNorm and their reciprocal forms: parameters quantized on stated grids, derived integers.


def channel_codes(lowering: Lowering, node: FileNode, k: int, what: str, scale: Scale) -> str:
    """Return the constant of a parameter that a Quant put on `scale`.

    Parameters
    ----------
    lowering, node, k, what : the values of the file, a node, the index of its input, and its name for messages
    scale : what the parameter must lie on

    Returns
    -------
    str, name of a constant of the program

    Raises
    ------
    FormatError
        If the scale differs.
    """
    grid = lowering.grid(node, k, what)
    if grid.scale != scale:
        raise FormatError(f"{what} must be quantized on the scale {scale}, not {grid.scale}")
    return lowering.constant(node.inputs[k], grid.codes, scale, grid.format)


# Add, Sub of two activations, or of an activation and a constant; the op aligns the scales.
#
# A constant without a Quant must lie on the scale of the activation; in a third-party file it is rounded to a
# finer grid, and so is an activation whose scale is no power of two away from the other. (An Add right behind a product is
# the product's bias: mfsim/compiler/lower/products.py.)


def constant_beside(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> str:
    """Return the constant of input `k`, without batch axis, on one scale.

    Parameters
    ----------
    lowering, node, k : the values of the file, a node, and the index of its input
    x : activation that the constant meets, with batch axis

    Returns
    -------
    str, name of a constant of the program

    Raises
    ------
    ShapeError
        If the constant does not broadcast against x.
    """
    value = lowering.value(node, k)
    if isinstance(value, Grid):
        exponent = int(value.exponents.min()) if value.exponents.size else 0
        format_ = value.format if (value.exponents == exponent).all() else None
    else:
        exponent, format_ = x.scale.exponent, None
    codes = lowering.on_grid(node, k, exponent, "the constant")
    codes = np.ascontiguousarray(without_batch(codes, x.shape, f"the constant `{node.inputs[k]}`"))
    return lowering.constant(node.inputs[k], codes, Scale.of(exponent), format_)
