"""What the layout ops share: where the axis of a scale or a range goes when codes only move.

A word that holds the result is kept, since nothing is computed. A range whose axis is lost is
merged, which is sound; a scale whose axis is lost is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from mfsim.errors import LostScaleError, ShapeError
from mfsim.ir.formats import Range, Scale
from mfsim.ir.program import Tensor
from mfsim.ops.op import result


def check_axis(op: str, axis: int, rank: int) -> None:
    """Raise `ShapeError` unless `axis` is one behind the batch.

    Parameters
    ----------
    op : str
        Name of the op, for the error.
    axis : int
        Axis, batch included.
    rank : int
        Number of axes, batch included.

    Raises
    ------
    ShapeError
        If `axis` is not in 1..rank - 1.
    """
    if not 0 < axis < rank:
        raise ShapeError(f"an axis of op `{op}` must be in 1..{rank - 1}, not {axis}")


def laid_out(x: Tensor, shape: Sequence[int], range_: Range, scale: Scale, op: str) -> Tensor:
    """Return the result of a layout op, in the word of x where that holds `range_`.

    Parameters
    ----------
    x : Tensor
        What the op reads.
    shape : sequence of int
        Of the result, batch included.
    range_ : Range
        Of the result; merged where all its indices agree.
    scale : Scale
        Of the result.
    op : str
        Name of the op.

    Returns
    -------
    Tensor
        In the smallest word that holds `range_` where that of x does not.
    """
    if all(lo == range_.lo[0] for lo in range_.lo) and all(hi == range_.hi[0] for hi in range_.hi):
        range_ = range_.merged()
    return result(shape, range_, scale, op, x.format if x.format.holds(range_.low, range_.high) else None)


def picked_scale(scale: Scale, indices: Sequence[int], axis: int) -> Scale:
    """Return the scale of the entries `indices`, now along `axis`.

    Parameters
    ----------
    scale : Scale
        Per tensor or per channel.
    indices : sequence of int
        Indices along the axis of the scale.
    axis : int
        Axis of the result.

    Returns
    -------
    Scale
        One entry for each index.
    """
    return scale.picked(indices, axis)


def picked_range(range_: Range, indices: Sequence[int], axis: int) -> Range:
    """Return the range of the entries `indices`, now along `axis`.

    Parameters
    ----------
    range_ : Range
        One range, or one for each index of an axis.
    indices : sequence of int
        Indices along that axis.
    axis : int
        Axis of the result.

    Returns
    -------
    Range
        One entry for each index; unchanged without an axis.
    """
    if range_.axis is None:
        return range_
    return Range(tuple(range_.lo[i] for i in indices), tuple(range_.hi[i] for i in indices), axis)


def reshaped(x: Tensor, shape: Sequence[int], op: str) -> Tensor:
    """Return x with its codes, in unchanged order, in `shape` (batch included).

    Parameters
    ----------
    x : Tensor
        What the op reads.
    shape : sequence of int
        With as many codes as x.
    op : str
        Name of the op, for the error.

    Returns
    -------
    Tensor
        In the word of x.

    Raises
    ------
    LostScaleError
        If the scale varies along an axis that the result does not have.
    """
    scale, range_ = x.scale, x.range
    if scale.axis is not None:
        axis, indices = _carried(x.shape, scale.axis, shape)
        if axis is None:
            raise LostScaleError(
                f"op `{op}` would lose axis {scale.axis}, along which the scale of x varies; requantize first"
            )
        scale = picked_scale(scale, indices, axis)
    if range_.axis is not None:
        axis, indices = _carried(x.shape, range_.axis, shape)
        range_ = range_.merged() if axis is None else picked_range(range_, indices, axis)
    return laid_out(x, shape, range_, scale, op)


def _carried(before: Sequence[int], axis: int, after: Sequence[int]) -> tuple[int | None, list[int]]:
    """Return the axis of `after` whose index fixes the index along `axis` of `before`, and which one it is for each.

    Index along `axis` = position // inner % n, with n its size and inner that of all axes behind it.
    An axis of `after`, of size m with inner' behind it, fixes it where inner' divides inner and
    n * inner divides m * inner'.
    """
    n, inner = before[axis], _product(before[axis + 1 :])
    for k in range(1, len(after)):
        m, inner_k = after[k], _product(after[k + 1 :])
        if inner % inner_k == 0 and (m * inner_k) % (n * inner) == 0:
            return k, [j * inner_k // inner % n for j in range(m)]
    return None, []


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for n in sizes:
        total *= n
    return total
