"""What elementwise products share: a second activation of one shape, or a constant that broadcasts to a sample of x."""

from __future__ import annotations

import numpy as np

from mfsim.errors import ShapeError
from mfsim.ir.formats import Range
from mfsim.ops.bounds import Operands


def sample_bounds(tensor, bounds, shape):
    """Return bounds of `tensor` as an int64 array that broadcasts to `shape`, one sample of x."""
    if tensor.is_constant:
        return np.broadcast_to(tensor.codes, shape)
    axis = tensor.range.axis
    view = [1] * len(shape)
    if axis is not None:
        view[axis - 1] = -1
    return np.array(bounds, dtype=np.int64).reshape(view)


def check_operands(x, w):
    """Raise `ShapeError` unless w has the shape of x, or is constant and broadcasts to one sample of x."""
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
    """Return the axis along which the range of an element-wise product is kept, or None."""
    if x.range.axis is not None or w.is_constant:
        return x.range.axis
    return w.range.axis


def element_operands(x, w):
    """Return the bounds of x and w flattened to one term for each output, and the shape of those outputs."""
    sample = x.shape[1:]
    ends = [sample_bounds(t, end, sample) for t in (x, w) for end in (t.range.lo, t.range.hi)]
    shape = np.broadcast_shapes(*(end.shape for end in ends))
    return Operands(*(np.broadcast_to(end, shape).reshape(1, -1) for end in ends)), shape


def element_range(lo, hi, shape, axis):
    """Return the range of outputs bounded by `lo` and `hi`, kept along `axis`."""
    lo, hi = lo.reshape(shape), hi.reshape(shape)
    if axis is None:
        return Range.of(lo.min(), hi.max())
    others = tuple(k for k in range(len(shape)) if k != axis - 1)
    return Range(tuple(lo.min(axis=others)), tuple(hi.max(axis=others)), axis)
