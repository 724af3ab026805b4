"""Plain kernels of the layout ops: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import shift_left
from mfsim.kernels.rows.transpose import transposed

# concat: inputs behind each other along an axis. Definition: mfsim/ops/layout/concat.py.


@kernel
def _plain_concat(x, places, start, y):
    """Put x of shape (outer, width), shifted left, into y of shape (outer, total) from `start` on."""
    for outer in range(x.shape[0]):
        for i in range(x.shape[1]):
            y[outer, start + i] = shift_left(x[outer, i], places)


def run_concat(inputs, attributes, outputs):
    """Fill the output of op `concat`: the concatenated inputs.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: one or more [batch, ...], of one shape but for `axis`.
    attributes : mapping
        Complete attributes: `axis`, `shifts`.
    outputs : list of one int64 array
        Preallocated and filled completely: y, the inputs along `axis`.
    """
    axis, y = attributes["axis"], outputs[0]
    outer = int(np.prod(y.shape[:axis], dtype=np.int64))
    rows, start = y.reshape(outer, int(np.prod(y.shape[axis:], dtype=np.int64))), 0
    for x, places in zip(inputs, attributes["shifts"], strict=True):
        width = int(np.prod(x.shape[axis:], dtype=np.int64))
        if places > 0:
            _plain_concat(x.reshape(outer, width), places, start, rows)
        else:
            rows[:, start : start + width] = x.reshape(outer, width)
        start += width


# flatten: a copy on one axis. Definition: mfsim/ops/layout/flatten.py.


def run_flatten(inputs, attributes, outputs):
    """Fill the output of op `flatten`: the flattened codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Not used: the op has none.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, codes of a sample].
    """
    outputs[0][...] = inputs[0].reshape(outputs[0].shape)


# reshape: a copy in another shape. Definition: mfsim/ops/layout/reshape.py.


def run_reshape(inputs, attributes, outputs):
    """Fill the output of op `reshape`: the reshaped codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `shape`.
    outputs : list of one int64 array
        Preallocated and filled completely: y, as many codes as x.
    """
    outputs[0][...] = inputs[0].reshape(outputs[0].shape)


# slice: a strided view, copied. Definition: mfsim/ops/layout/slice.py.


def run_slice(inputs, attributes, outputs):
    """Fill the output of op `slice`: the kept entries.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `axes`, `starts`, `ends`, `steps`.
    outputs : list of one int64 array
        Preallocated and filled completely: y, the kept entries.
    """
    kept = [slice(None)] * inputs[0].ndim
    for axis, start, end, step in zip(*(attributes[name] for name in ("axes", "starts", "ends", "steps")), strict=True):
        kept[axis] = slice(start, end if end >= 0 else None, step)
    outputs[0][...] = inputs[0][tuple(kept)]


# transpose: a copy with the axes in another order. Definition: mfsim/ops/layout/transpose.py.


run_transpose = transposed


# pad: a constant code around each sample. Definition: mfsim/ops/layout/pad.py.


def run_pad(inputs, attributes, outputs):
    """Fill the output of op `pad`: the padded codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, ...].
    attributes : mapping
        Complete attributes: `pads`, `value`.
    outputs : list of one int64 array
        Preallocated and filled completely: y, x with `pads` around it.
    """
    x, pads = inputs[0], attributes["pads"]
    outputs[0][...] = attributes["value"]
    inside = tuple(slice(begin, begin + n) for begin, n in zip(pads, x.shape, strict=False))
    outputs[0][inside] = x
