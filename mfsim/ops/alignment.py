"""What add, sub and concat share: their operands are brought to the finest of their grids.

Operands on one scale, per channel too, need no work. Unequal scales must be per tensor; the coarser
operands are shifted left, exactly, and each shift is counted. Per-channel scales that differ are an
error, because a shift of its own for each channel belongs into a requantize.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Tensor, Value
from mfsim.ops.op import Attribute, Inference, Row, result, rows, size

MAX_SHIFT = 62

SHIFTS_OF_A_SUM = (
    Attribute("shift_a", "int", "left shift of a", derived=True),
    Attribute("shift_b", "int", "left shift of b", derived=True),
)


def align(op: str, scales: Sequence[Scale]) -> tuple[Scale, tuple[int, ...]]:
    """Return the finest grid of `scales` and the left shift that brings each operand to it.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    scales : sequence of Scale
        Grids of the operands, at least one.

    Returns
    -------
    tuple of Scale and tuple of int
        The grid, and shifts in bits, 0 to 62, one for each operand.

    Raises
    ------
    FormatError
        If per-channel scales differ, or scales are not powers of two apart, or more than 62 bits.
    """
    if all(scale == scales[0] for scale in scales):
        return scales[0], (0,) * len(scales)
    shown = " and ".join(dict.fromkeys(str(scale) for scale in scales))
    if any(scale.axis is not None for scale in scales):
        raise FormatError(
            f"the operands of op `{op}` have different scales for each channel, {shown}; requantize first"
        )
    if len({scale.factors for scale in scales}) > 1:
        raise FormatError(
            f"the scales of the operands of op `{op}`, {shown}, must be powers of two apart; rescale first"
        )
    finest = min(scale.exponents[0] for scale in scales)
    shifts = tuple(scale.exponents[0] - finest for scale in scales)
    if max(shifts) > MAX_SHIFT:
        raise FormatError(f"the scales of the operands of op `{op}`, {shown}, must be at most {MAX_SHIFT} bits apart")
    return Scale((finest,), None, scales[0].factors), shifts


def shifted(range_: Range, places: int) -> Range:
    """Return the range of codes that are shifted left.

    Parameters
    ----------
    range_ : Range
        Range of the codes.
    places : int
        Bits, at least 0.

    Returns
    -------
    Range
        Along the same axis.
    """
    return range_.map(lambda lo, hi: (lo << places, hi << places))


def check_shifts(op: str, names: Sequence[str], given: Sequence[Value], needed: Sequence[Value]) -> None:
    """Raise `FormatError` unless the shifts of the node are those that its scales need.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    names : sequence of str
        Names of the attributes.
    given, needed : sequence
        Values of the node, and those that its scales need.

    Raises
    ------
    FormatError
        If a pair differs.
    """
    for name, value, expected in zip(names, given, needed, strict=True):
        if value != expected:
            raise FormatError(f"`{name}` of op `{op}` must be {expected} for the scales of its operands, not {value}")


def _operand_scale(op: str, a: Tensor, b: Tensor) -> Scale:
    """Return the scale of b by the axes of a, checking that their shapes suit each other."""
    if a.is_constant:
        raise ShapeError(f"only the second operand of op `{op}` may be constant")
    if not b.is_constant:
        if a.shape != b.shape:
            raise ShapeError(f"the operands of op `{op}` must have one shape, not {a.shape} and {b.shape}")
        return b.scale
    fits = len(b.shape) < len(a.shape) and all(n in (1, m) for n, m in zip(b.shape[::-1], a.shape[::-1], strict=False))
    if not fits:
        raise ShapeError(f"a constant operand of op `{op}` must broadcast to {a.shape[1:]}, which {b.shape} does not")
    return b.scale if b.scale.axis is None else b.scale.on(b.scale.axis + len(a.shape) - len(b.shape))


def derive_sum(op: str, tensors: Sequence[Tensor], attributes: Mapping[str, Value]) -> dict[str, Value]:
    """Return `shift_a` and `shift_b` of add and sub.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    tensors : sequence of Tensor
        a and b.
    attributes : mapping
        Not used.

    Returns
    -------
    dict of str to int
        Bits, 0 to 62.

    Raises
    ------
    ShapeError
        If the shapes do not suit each other, or a is constant.
    FormatError
        If the scales do not; see `align`.
    """
    a, b = tensors
    _, shifts = align(op, (a.scale, _operand_scale(op, a, b)))
    return {"shift_a": shifts[0], "shift_b": shifts[1]}


def _range_along(x: Tensor, shape: Sequence[int], axis: int | None) -> Range:
    """Return the range of an operand, broadcast to `shape`, along `axis`."""
    if x.codes is None:
        if axis is None:
            return x.range.merged()
        lo, hi = x.range.along(axis, shape[axis])
        return Range(lo, hi, axis)
    codes = np.broadcast_to(x.codes, shape[1:])
    if axis is None:
        return Range.of(int(codes.min()), int(codes.max()))
    others = tuple(k for k in range(codes.ndim) if k != axis - 1)
    return Range(tuple(codes.min(axis=others).tolist()), tuple(codes.max(axis=others).tolist()), axis)


def _sum_axis(a: Tensor, b: Tensor) -> int | None:
    """Return the axis along which the range of the sum is kept: that of a, else the one b varies along."""
    if a.range.axis is not None or not b.is_constant:
        return a.range.axis if a.range.axis is not None else b.range.axis
    varying = [k + len(a.shape) - len(b.shape) for k, n in enumerate(b.shape) if n > 1]
    return varying[0] if len(varying) == 1 else None


def infer_sum(op: str, sign: int, tensors: Sequence[Tensor], attributes: Mapping[str, Any]) -> Inference:
    """Return what is proved of a + sign * b; the bounds are attained unless a and b are one tensor.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    sign : int
        +1 or -1.
    tensors : sequence of Tensor
        a and b.
    attributes : mapping
        `shift_a` and `shift_b`, in bits.

    Returns
    -------
    Inference
        Words `aligned_a` and `aligned_b` where an operand is shifted.

    Raises
    ------
    ShapeError
        If the shapes do not suit each other, or a is constant.
    FormatError
        If the scales or shifts do not.
    RangeError
        If no word of at most 63 bits holds the sum.
    """
    a, b = tensors
    scale, needed = align(op, (a.scale, _operand_scale(op, a, b)))
    shifts = (attributes["shift_a"], attributes["shift_b"])
    check_shifts(op, ("shift_a", "shift_b"), shifts, needed)
    axis = _sum_axis(a, b)
    left, right = (shifted(_range_along(x, a.shape, axis), places) for x, places in zip(tensors, shifts, strict=True))
    words = {
        f"aligned_{name}": Format.of_range(side.low, side.high, f"the aligned {name}")
        for name, side, places in (("a", left, shifts[0]), ("b", right, shifts[1]))
        if places
    }
    if sign < 0:
        right = right.map(lambda lo, hi: (-hi, -lo))
    lo = tuple(p + q for p, q in zip(left.lo, right.lo, strict=True))
    hi = tuple(p + q for p, q in zip(left.hi, right.hi, strict=True))
    return Inference((result(a.shape, Range(lo, hi, axis), scale, op),), words, tight=a is not b)


SUM_HELD = {"plain.left": "aligned_a", "plain.right": "aligned_b", "combine.b": "aligned_b"}
"""Which word holds which value of an addition or a subtraction."""


def count_sum(node: Node, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> list[Row]:
    """Return one addition for each code, and the alignment (offline for a constant).

    Parameters
    ----------
    node : Node
        The node, with its words.
    inputs, outputs : sequence of Tensor
        Its tensors.

    Returns
    -------
    list of Row
        For one sample.
    """
    a, b = inputs
    n = size(a.shape)
    widths = [
        node.words[f"aligned_{name}"].bits if f"aligned_{name}" in node.words else tensor.format.bits
        for name, tensor in (("a", a), ("b", b))
    ]
    return rows(
        node,
        ("shift", (a.format.bits,), n if node.attributes["shift_a"] else 0),
        ("shift", (b.format.bits,), b.sample_size if node.attributes["shift_b"] else 0, "", b.is_constant),
        ("addsub", tuple(widths), n),
    )
