"""What elementwise products share: a second activation of one shape, or a constant that broadcasts to a sample of x."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ir.formats import Range
from mfsim.ops.bounds import Operands


def sample_bounds(tensor, bounds, shape):
    """Return bounds of `tensor` as an int64 array that broadcasts to `shape`, one sample of x.

    Parameters
    ----------
    tensor : Tensor
        Activation or constant.
    bounds : sequence of int
        Lower or upper ends of its range, one, or one for each index of its axis.
    shape : tuple of int
        Shape of one sample.

    Returns
    -------
    int64 array
        The codes themselves for a constant.
    """
    if tensor.is_constant:
        return np.broadcast_to(tensor.codes, shape)
    axis = tensor.range.axis
    view = [1] * len(shape)
    if axis is not None:
        view[axis - 1] = -1
    return np.array(bounds, dtype=np.int64).reshape(view)


def check_operands(x, w):
    """Raise `ShapeError` unless w has the shape of x, or is constant and broadcasts to one sample of x.

    Parameters
    ----------
    x : Tensor
        Activation.
    w : Tensor
        Activation or constant.

    Raises
    ------
    ShapeError
        If w does not suit x.
    """
    if not w.is_constant:
        if w.shape != x.shape:
            raise ShapeError(f"x and a dynamic w must have one shape, not {x.shape} and {w.shape}")
        return
    try:
        fits = np.broadcast_shapes(w.shape, x.shape[1:]) == x.shape[1:]
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"a constant w must broadcast to one sample {x.shape[1:]} of x, not have the shape {w.shape}")


def range_axis(x, w):
    """Return the axis along which the range of an element-wise product is kept, or None.

    Parameters
    ----------
    x, w : Tensor
        Operands.

    Returns
    -------
    int or None
        Axis, batch axis counted.
    """
    if x.range.axis is not None or w.is_constant:
        return x.range.axis
    return w.range.axis


def element_operands(x, w):
    """Return the bounds of x and w flattened to one term for each output, and the shape of those outputs.

    Parameters
    ----------
    x, w : Tensor
        Operands that suit each other; see `check_operands`.

    Returns
    -------
    tuple of Operands and tuple of int
        Operands of arrays [1, outputs].
    """
    sample = x.shape[1:]
    ends = [sample_bounds(t, end, sample) for t in (x, w) for end in (t.range.lo, t.range.hi)]
    shape = np.broadcast_shapes(*(end.shape for end in ends))
    return Operands(*(np.broadcast_to(end, shape).reshape(1, -1) for end in ends)), shape


def element_range(lo, hi, shape, axis):
    """Return the range of outputs bounded by `lo` and `hi`, kept along `axis`.

    Parameters
    ----------
    lo, hi : object or int64 array, shape (outputs,)
        Bounds of each output.
    shape : tuple of int
        Shape that they stand for; it broadcasts to a sample.
    axis : int or None
        Axis, batch axis counted.

    Returns
    -------
    Range
        With one entry, or one for each index of `axis`.
    """
    lo, hi = lo.reshape(shape), hi.reshape(shape)
    if axis is None:
        return Range.of(lo.min(), hi.max())
    others = tuple(k for k in range(len(shape)) if k != axis - 1)
    return Range(tuple(lo.min(axis=others)), tuple(hi.max(axis=others)), axis)
