"""What convolution and pooling share: windows over the last two axes, padding, bounds of taps.

x is [batch, channels, height, width]. Padding is code 0 for sums, before the operator (it matters
for `sign_zero` 1), and it is executed like any other code. The greatest code of a window leaves padding
out: there a padded tap repeats a code of its window. So every window executes all its taps, and a count
of those inside x alone (`taps` valid) is the sum of what windows without padding cost: what padding adds
to a sum where it is not 0 is a constant that a bias holds. What is proved of a sum is the union over all windows, each with code 0 at its
padded taps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.program import Tensor
from mfsim.ops.bounds import Operands, Spans, Windows
from mfsim.ops.op import Attribute
from mfsim.ops.products import Sums

KERNEL = Attribute("kernel", "ints", "rows and columns of the window")
STRIDES = Attribute("strides", "ints", "steps of the window down and to the right", (1, 1))
PADS = Attribute("pads", "ints", "padding at the top, left, bottom and right", (0, 0, 0, 0))
DILATIONS = Attribute("dilations", "ints", "distances of the taps down and to the right", (1, 1))
GROUPS = Attribute("groups", "int", "number of independent groups of channels", 1)

CONVOLUTION_ATTRIBUTES = (STRIDES, PADS, DILATIONS, GROUPS)
"""Attributes of every convolution."""


def plane_shape(op: str, x: Tensor, kernel: Sequence[int], attributes: Mapping[str, Any]) -> tuple[int, int]:
    """Return rows and columns of the output of op `op`; a `ShapeError` where no window fits.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    x : Tensor
        [batch, channels, height, width].
    kernel : sequence of int
        Rows and columns of the window.
    attributes : mapping
        `strides`, `pads` and perhaps `dilations`.

    Returns
    -------
    tuple of int
        (rows, columns), both at least 1.

    Raises
    ------
    ShapeError
        If x has other axes, an attribute has another length or too small a value, or no window fits.
    """
    if len(x.shape) != 4:
        raise ShapeError(f"x of op `{op}` must be [batch, channels, height, width], not {x.shape}")
    geometry = {**attributes, "kernel": tuple(kernel)}
    for name, count, least in (("kernel", 2, 1), ("strides", 2, 1), ("pads", 4, 0), ("dilations", 2, 1)):
        values = geometry.get(name, (1, 1))
        if len(values) != count or min(values) < least:
            raise ShapeError(f"`{name}` of op `{op}` must be {count} ints of at least {least}, not {values}")
    pads, dilations = attributes["pads"], attributes.get("dilations", (1, 1))
    padded = [x.shape[2 + a] + pads[a] + pads[2 + a] for a in (0, 1)]
    reach = [(kernel[a] - 1) * dilations[a] + 1 for a in (0, 1)]
    if reach[0] > padded[0] or reach[1] > padded[1]:
        raise ShapeError(f"a window of {reach[0]} x {reach[1]} must fit the padded plane of {padded[0]} x {padded[1]}")
    rows, columns = ((padded[a] - reach[a]) // attributes["strides"][a] + 1 for a in (0, 1))
    return rows, columns


def taps_inside(
    op: str, x: Tensor, plane: tuple[int, int], attributes: Mapping[str, Any]
) -> tuple[list[int], list[int]]:
    """Return how many rows of a window lie inside x, for each output row, and the same for columns.

    Raises `ShapeError` if some window is all padding.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    x : Tensor
        [batch, channels, height, width].
    plane : tuple of int
        Rows and columns of the output.
    attributes : mapping
        `kernel`, `strides`, `pads` and perhaps `dilations`.

    Returns
    -------
    tuple of two lists of int
        Numbers of taps, 1 to those of the kernel.

    Raises
    ------
    ShapeError
        If some window is all padding.
    """
    counts = _inside(x, attributes["kernel"], plane, attributes)
    if 0 in (*counts[0], *counts[1]):
        raise ShapeError(
            f"every window of op `{op}` must hold a code of x, but with `pads` {attributes['pads']} one holds none"
        )
    return counts


def _inside(
    x: Tensor, kernel: Sequence[int], plane: Sequence[int], attributes: Mapping[str, Any]
) -> tuple[list[int], list[int]]:
    dilations, counts = attributes.get("dilations", (1, 1)), []
    for a in (0, 1):
        starts = [k * attributes["strides"][a] - attributes["pads"][a] for k in range(plane[a])]
        taps = [k * dilations[a] for k in range(kernel[a])]
        counts.append([sum(0 <= start + tap < x.shape[2 + a] for tap in taps) for start in starts])
    return counts[0], counts[1]


def counted_taps(
    x: Tensor, y: Tensor, kernel: Sequence[int], attributes: Mapping[str, Any], taps: str
) -> tuple[int, int]:
    """Return how many taps all windows of one plane count, and how many of the windows count any.

    Parameters
    ----------
    x, y : input and output, [batch, channels, height, width].
    kernel : rows and columns of the window.
    attributes : `strides`, `pads` and perhaps `dilations`.
    taps : "executed" counts every tap, padding included; "valid" those inside x. A window that is all
        padding counts nothing then.
    """
    plane = y.shape[2:]
    if taps == "executed":
        return int(np.prod(kernel)) * int(np.prod(plane)), int(np.prod(plane))
    rows, columns = _inside(x, kernel, plane, attributes)
    return sum(rows) * sum(columns), sum(n > 0 for n in rows) * sum(n > 0 for n in columns)


def counted_terms(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], attributes: Mapping[str, Any], taps: str
) -> tuple[int, int]:
    """Return how many terms all sums of a convolution count, and how many of the sums count any; see `counted_taps`.

    Parameters
    ----------
    inputs, outputs : sequence of Tensor
        Tensors of a convolution.
    attributes : mapping
        `strides`, `pads` and perhaps `dilations`.
    taps : str
        "executed" or "valid".

    Returns
    -------
    tuple of int
        (terms, sums) of one sample.
    """
    outs, channels, *kernel = inputs[1].shape
    codes, windows = counted_taps(inputs[0], outputs[0], kernel, attributes, taps)
    return outs * channels * codes, outs * windows


def window_sums(op: str, x: Tensor, w: Tensor, attributes: Mapping[str, Any]) -> Sums:
    """Return the sums of a convolution of x with constant weights [O, C / groups, rows, columns].

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    x : Tensor
        [batch, C, height, width].
    w : Tensor
        Constant weights.
    attributes : mapping
        Complete attributes of the convolution.

    Returns
    -------
    Sums
        With the outputs along axis 1.

    Raises
    ------
    FormatError
        If w is no constant, or has a scale along another axis than its outputs.
    ShapeError
        If the shapes, the windows or `groups` do not suit each other.
    """
    if w.codes is None:
        raise FormatError(f"w of op `{op}` must be a constant")
    if len(w.shape) != 4 or len(x.shape) != 4:
        raise ShapeError(
            f"op `{op}` takes x [batch, C, height, width] and w [O, C / groups, rows, columns], not {x.shape} and {w.shape}"
        )
    plane = plane_shape(op, x, w.shape[2:], attributes)
    channels, outputs, groups = x.shape[1], w.shape[0], attributes["groups"]
    if groups < 1 or channels % groups or outputs % groups:
        raise ShapeError(
            f"`groups` of op `{op}` must divide {channels} input and {outputs} output channels, not {groups}"
        )
    if w.shape[1] * groups != channels or not outputs or not channels:
        raise ShapeError(
            f"w of op `{op}` must be [O, {channels // groups}, rows, columns] for {channels} channels in {groups} groups, not {w.shape}"
        )
    if w.scale.axis not in (None, 0):
        raise FormatError(
            f"w of op `{op}` must have one scale, or one for each output channel, not one along axis {w.scale.axis}"
        )
    codes = w.codes.reshape(outputs, -1).T
    x_lo, x_hi = _tap_bounds(x, w, attributes)
    operands = Operands(x_lo, x_hi, codes, codes)
    rows, columns = (_spans(a, x.shape[2 + a], plane[a], w.shape[2 + a], attributes) for a in (0, 1))
    windows = Windows(w.shape[2:], rows, columns)
    return Sums(op, (x.shape[0], outputs, *plane), 1, operands, x.range.axis in (None, 1), windows)


def _spans(axis: int, size: int, windows: int, taps: int, attributes: Mapping[str, Any]) -> Spans:
    """Return the spans of taps that lie inside x, of `windows` windows along an axis of x with `size` codes."""
    stride, pad, step = (attributes[name][axis] for name in ("strides", "pads", "dilations"))
    found = set()
    for start in range(-pad, windows * stride - pad, stride):
        inside = [k for k in range(taps) if 0 <= start + k * step < size]
        found.add((inside[0], inside[-1] + 1) if inside else (0, 0))
    return tuple(sorted(found))


def _tap_bounds(x: Tensor, w: Tensor, attributes: Mapping[str, Any]) -> list[np.ndarray]:
    """Return lo and hi of each tap inside x, [terms, outputs or 1]."""
    outputs, each, area = w.shape[0], w.shape[1], w.shape[2] * w.shape[3]
    groups = attributes["groups"]
    channel = np.repeat(np.arange(each), area)[:, None]
    if groups > 1:
        channel = channel + (np.arange(outputs) // (outputs // groups) * each)[None, :]
    lo, hi = (np.array(v, dtype=np.int64)[channel] for v in x.range.along(1, x.shape[1]))
    return [lo, hi]


def tap_planes(
    x: np.ndarray, kernel: Sequence[int], attributes: Mapping[str, Any], outside: int
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Yield (row, column) of each tap and the codes [..., H', W'] that the tap meets; `outside` stands for padding.

    Parameters
    ----------
    x : object array, shape (batch, channels, height, width)
        Codes.
    kernel : sequence of int
        Rows and columns of the window.
    attributes : mapping
        `strides`, `pads` and perhaps `dilations`.
    outside : int
        Code that stands for padding.

    Yields
    ------
    tuple
        ((row, column), codes).
    """
    top, left, bottom, right = attributes["pads"]
    (down, across), (step_y, step_x) = attributes["strides"], attributes.get("dilations", (1, 1))
    high, wide = x.shape[2:]
    padded = np.full((*x.shape[:2], top + high + bottom, left + wide + right), outside, dtype=object)
    padded[:, :, top : top + high, left : left + wide] = x
    rows = padded.shape[2] - (kernel[0] - 1) * step_y
    columns = padded.shape[3] - (kernel[1] - 1) * step_x
    for ky, kx in np.ndindex(*kernel):
        y, z = ky * step_y, kx * step_x
        yield (ky, kx), padded[:, :, y : y + rows : down, z : z + columns : across]


def window_terms(
    x: np.ndarray, w: np.ndarray, attributes: Mapping[str, Any]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each term of a convolution, its operands, shaped to broadcast to [batch, O, H', W'].

    Parameters
    ----------
    x : object array, shape (batch, C, height, width)
        Codes.
    w : object array, shape (O, C / groups, rows, columns)
        Codes of the weights.
    attributes : mapping
        Complete attributes of the convolution.

    Yields
    ------
    tuple of object arrays
        (x of shape (batch, O, H', W'), w of shape (O, 1, 1)).
    """
    groups = attributes["groups"]
    owner = np.arange(w.shape[0]) // (w.shape[0] // groups) * w.shape[1]
    for (ky, kx), plane in tap_planes(x, w.shape[2:], attributes, 0):
        for c in range(w.shape[1]):
            yield plane[:, owner + c], w[:, c, ky, kx][:, None, None]
