"""wht: Walsh-Hadamard transform of the last axis, or of the last two (`dims` = 2).

    Y = H X,   H[i, j] = (-1)**popcount(i & j)      (natural order, Sylvester)

With `order` sequency the rows are sorted by their number of sign changes; with dyadic (Paley) row i is the
product of the Rademacher functions that the bits of i name, the lowest bit the slowest of them,
which is natural row i with its bits reversed. `block` n splits the axis
into blocks of n (0: one block). Codes are never scaled: a norm only relabels the grid, q = log2 n:

    none     2**0
    shift    forward 2**-floor(q/2), inverse 2**-ceil(q/2); together exactly 1/n
    ortho    2**(-q/2); only where that is a power of two

H H = n I, so the transform is its own inverse up to the norm. n*q additions and subtractions per
block, no multiplication; n-block of B-bit words needs exactly B + q bits.
"""

from __future__ import annotations

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.formats import Format, Range
from mfsim.ops.op import Attribute, Inference, Op, result, rows, size
from mfsim.ops.traits import Signature

ORDERS = ("natural", "sequency", "dyadic")

NORMS = ("none", "shift", "ortho")


def block_length(length: int, block: int) -> int:
    """Return the transform length for an axis of `length`; it must be a power of two.

    Parameters
    ----------
    length : int
        Codes along the axis.
    block : int
        Length of a transform; 0 for the whole axis.

    Returns
    -------
    int
        A power of two that divides `length`.

    Raises
    ------
    ShapeError
        If the length of the transform is no power of two, or does not divide that of the axis.
    """
    n = block or length
    if n < 1 or n & (n - 1):
        raise ShapeError(
            f"the length of a Walsh-Hadamard transform must be a power of two, not {n}; pad the axis or choose a block"
        )
    if length % n:
        raise ShapeError(f"`block` {n} must divide the axis of length {length}")
    return n


def matrix(n: int, order: str) -> np.ndarray:
    """Return the n x n matrix of +1 and -1, int64, rows in the given order.

    Parameters
    ----------
    n : int
        A power of two.
    order : str
        One of `ORDERS`.

    Returns
    -------
    int64 array, shape (n, n)
        Entries 1 and -1.
    """
    h = np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)], dtype=np.int64)
    if order == "sequency":
        changes = (h[:, 1:] != h[:, :-1]).sum(axis=1)
        h = h[np.argsort(changes)]
    if order == "dyadic":
        q = n.bit_length() - 1
        slowest_first = [np.where(np.arange(n) >> (q - 1 - b) & 1, -1, 1) for b in range(q)]
        h = np.array(
            [np.prod([r for b, r in enumerate(slowest_first) if i >> b & 1] + [np.ones(n)], 0) for i in range(n)]
        )
    return h.astype(np.int64)


def norm_exponent(q: int, norm: str, inverse: int) -> int:
    """Return e for the norm 2**e of a transform of length 2**q.

    Parameters
    ----------
    q : int
        log2 of the length, at least 0.
    norm : str
        One of `NORMS`.
    inverse : int
        1 for the inverse transform, which takes the larger half of an odd q in the norm shift; else 0.

    Returns
    -------
    int
        In -ceil(q / 2)..0.

    Raises
    ------
    FormatError
        If `norm` is ortho and q is odd.
    """
    if norm == "none":
        return 0
    if norm == "ortho":
        if q % 2:
            raise FormatError(
                f"`norm` ortho of length {1 << q} needs a factor 1/sqrt(2), which is no power of two; use shift"
            )
        return -(q // 2)
    return -((q + 1) // 2) if inverse else -(q // 2)


def _transform_range(lo, hi, order):
    """Bounds of H x for lo <= x <= hi elementwise (lists of length n)."""
    h = matrix(len(lo), order).astype(object)
    lo, hi = np.array(lo, dtype=object), np.array(hi, dtype=object)
    low = np.where(h > 0, lo, -hi).sum(axis=1)
    high = np.where(h > 0, hi, -lo).sum(axis=1)
    return low, high


def _axis_range(range_, axis, shape, n, order):
    """Return the per-index range along the last axis after transforming blocks of n."""
    if range_.axis is None or range_.axis != axis:
        # Row 0 sums n codes; every other row is n/2 codes minus n/2 codes.
        a, b = range_.low, range_.high
        if n == 1:
            return Range.of(a, b)
        half = n // 2 * (b - a)
        lo, hi = [n * a] + [-half] * (n - 1), [n * b] + [half] * (n - 1)
        return Range(tuple(lo) * (shape[axis] // n), tuple(hi) * (shape[axis] // n), axis)
    los, his = range_.along(axis, shape[axis])
    out_lo, out_hi = [], []
    for start in range(0, shape[axis], n):
        low, high = _transform_range(los[start : start + n], his[start : start + n], order)
        out_lo += [int(k) for k in low]
        out_hi += [int(k) for k in high]
    return Range(tuple(out_lo), tuple(out_hi), axis)


def _axes(shape, attributes) -> list[tuple[int, int]]:
    dims = attributes["dims"]
    if len(shape) < 1 + dims:
        raise ShapeError(f"`dims` {dims} of op `wht` needs {dims} axes behind the batch, not shape {tuple(shape)}")
    return [(axis, block_length(shape[axis], attributes["block"])) for axis in range(len(shape) - dims, len(shape))]


def _infer(tensors, attributes):
    (x,) = tensors
    axes = _axes(x.shape, attributes)
    for axis, n in axes:
        if x.scale.axis == axis and n > 1:
            raise FormatError("the transformed axis must have one scale; requantize first")
    range_ = x.range
    for axis, n in axes:
        range_ = _axis_range(range_, axis, x.shape, n, attributes["order"])
    q = sum(n.bit_length() - 1 for _, n in axes)
    scale = x.scale.moved(norm_exponent(q, attributes["norm"], attributes["inverse"]))
    bound = x.range.bound * 2**q
    tight = len(axes) == 1 and x.range.axis in (None, axes[0][0])
    inner = Format.of_range(-bound, bound, "wht")
    return Inference((result(x.shape, range_, scale, "wht"),), {"butterfly": inner}, tight=tight)


def _reference(inputs, attributes):
    (x,) = inputs
    y = x
    for axis, n in _axes(x.shape, attributes):
        h = matrix(n, attributes["order"]).astype(object)
        moved = np.moveaxis(y, axis, -1)
        blocks = moved.reshape(*moved.shape[:-1], moved.shape[-1] // n, n)
        out = np.empty(blocks.shape, dtype=object)
        for i in range(n):
            total = np.zeros(blocks.shape[:-1], dtype=object)
            for j in range(n):
                total = total + h[i, j] * blocks[..., j]
            out[..., i] = total
        y = np.moveaxis(out.reshape(moved.shape), -1, axis)
    return [y]


def _count(node, inputs, outputs):
    (x,) = inputs
    counts, bits, codes = [], x.format.bits, size(x.shape)
    for _, n in reversed(_axes(x.shape, node.attributes)):
        for _ in range(n.bit_length() - 1):
            counts.append(("addsub", (bits, bits), codes))
            bits += 1
    return rows(node, *counts)


OP = Op(
    name="wht",
    summary="Walsh-Hadamard transform of the last one or two axes",
    attributes=(
        Attribute("block", "int", "transform length, 0 for the whole axis", 0),
        Attribute("dims", "int", "1: last axis; 2: last two axes", 1, (1, 2)),
        Attribute("order", "str", "order of the rows", "natural", ORDERS),
        Attribute("norm", "str", "relabelling of the grid", "none", NORMS),
        Attribute("inverse", "int", "1 for the norm of the way back", 0, (0, 1)),
    ),
    inputs=("x",),
    signature=Signature("WHT", attributes=("block", "dims", "order", "norm", "inverse")),
    primitives=frozenset({"addsub"}),
    realisations=frozenset({"kernel", "fast", "torch", "onnx", "integer"}),
    infer=_infer,
    reference=_reference,
    count=_count,
    held={"plain.y": "butterfly"},
)
