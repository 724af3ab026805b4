"""What the matrix products share: shapes, operand bounds, and the walk over the terms of a sum.

x is [batch, ..., K]; w is a constant [K, O], or a second activation [batch, ..., K, O] (no bias then).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfsim.errors import FormatError, ShapeError
from mfsim.ir.program import Tensor
from mfsim.ops.bounds import Operands
from mfsim.ops.products import Sums


def matrix_sums(op: str, x: Tensor, w: Tensor) -> Sums:
    """Return the sums of a matrix product of x with constant or dynamic w.

    Raises `ShapeError` where x and w do not fit together, `FormatError` where w has a scale for each
    index of another axis than the outputs of constant weights.

    Parameters
    ----------
    op : str
        Name of the op, for messages.
    x : Tensor
        [batch, ..., K].
    w : Tensor
        Constant [K, O], or activation [batch, ..., K, O].

    Returns
    -------
    Sums
        With the outputs along the last axis.

    Raises
    ------
    ShapeError
        If the shapes do not fit together, or there is no term or no output.
    FormatError
        If w has a scale along another axis than the outputs of constant weights.
    """
    a, b, last = x.shape, w.shape, len(x.shape) - 1
    if w.is_constant and (len(b) != 2 or len(a) < 2 or a[-1] != b[0]):
        raise ShapeError(f"x {a} must end in K and constant weights must be [K, O], not {b}")
    if not w.is_constant and (len(a) < 3 or len(b) != len(a) or a[:-2] != b[:-2] or a[-1] != b[-2]):
        raise ShapeError(f"x [..., M, K] and a dynamic w [..., K, O] must share all but the last axes, not {a} and {b}")
    if min(b[-2:]) < 1:
        raise ShapeError(f"a matrix product must have at least one term and one output, not w of shape {b}")
    if w.scale.axis is not None and not (w.is_constant and w.scale.axis == 1):
        raise FormatError("w must have one scale, or for constant weights one for each output")
    x_lo, x_hi = (np.array(v, dtype=np.int64)[:, None] for v in x.range.along(last, a[-1]))
    w_lo, w_hi = _dynamic_bounds(w) if w.codes is None else (w.codes, w.codes)
    tight = x.range.axis in (None, last) and (w.is_constant or w.range.axis in (None, last, last - 1))
    return Sums(op, (*a[:-1], b[-1]), last, Operands(x_lo, x_hi, w_lo, w_hi), tight)


def _dynamic_bounds(w: Tensor) -> list[np.ndarray]:
    """Return lo and hi of a dynamic w as [K or 1, O or 1]."""
    axis = w.range.axis
    if axis == len(w.shape) - 1:
        return [np.array(v, dtype=np.int64)[None, :] for v in (w.range.lo, w.range.hi)]
    return [np.array(v, dtype=np.int64)[:, None] for v in w.range.along(len(w.shape) - 2, w.shape[-2])]


def matrix_terms(x: np.ndarray, w: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each term k, its operands x[..., k] and w[..., k, :], shaped to broadcast to the output.

    Parameters
    ----------
    x : object array, shape (batch, ..., K)
        Codes.
    w : object array, shape (K, O) or (batch, ..., K, O)
        Codes.

    Yields
    ------
    tuple of object arrays
        (x of shape (..., 1), w of shape (O,) or (..., 1, O)).
    """
    for k in range(x.shape[-1]):
        yield x[..., k : k + 1], w[..., k : k + 1, :] if w.ndim > 2 else w[k]
