"""Plain kernels of the pools: int64 codes through counted primitives only."""

from __future__ import annotations

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.primitives import addsub, less, select
from mfsim.kernels.windows import gather, inside, window_of

# max_pool2d: greatest code of each window. Definition: mfsim/ops/pool/max_pool2d.py.


@kernel
def _plain_max_pool2d(x, window, patch, y):
    """Take x [planes, H, W], y [planes, H', W']; the patch holds one window, and no window is all padding.

    A tap in the padding repeats the first code of its window inside x, which changes no greatest code.
    """
    rows, columns, stride_y, stride_x, top, left, step_y, step_x = window
    for row in range(y.shape[1]):
        above = row * stride_y - top
        first_y, _ = inside(above, step_y, rows, x.shape[1])
        for column in range(y.shape[2]):
            before = column * stride_x - left
            first_x, _ = inside(before, step_x, columns, x.shape[2])
            for p in range(y.shape[0]):
                gather(x, p, row, column, window, x[p, above + first_y * step_y, before + first_x * step_x], patch)
                best = patch[0]
                for k in range(1, patch.size):
                    best = select(less(best, patch[k]), patch[k], best)
                y[p, row, column] = best


def run_max_pool2d(inputs, attributes, outputs):
    """Fill the output of op `max_pool2d`: max-pooled codes.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W].
    attributes : mapping
        Complete attributes: `kernel`, `strides`, `pads`, `dilations`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, C, H', W'].
    """
    x, y = inputs[0], outputs[0]
    planes = x.shape[0] * x.shape[1]
    window = window_of(attributes["kernel"], attributes)
    patch = np.empty(window[0] * window[1], dtype=x.dtype)
    _plain_max_pool2d(x.reshape(planes, *x.shape[2:]), window, patch, y.reshape(planes, *y.shape[2:]))


# sum_pool2d: sum of each window. Definition: mfsim/ops/pool/sum_pool2d.py.


@kernel
def _plain_sum_pool2d(x, window, patch, y):
    """Take x [planes, H, W], y [planes, H', W']; the patch holds one window."""
    for p in range(y.shape[0]):
        for row in range(y.shape[1]):
            for column in range(y.shape[2]):
                gather(x, p, row, column, window, 0, patch)
                total = patch[0]
                for k in range(1, patch.size):
                    total = addsub(total, patch[k], 1)
                y[p, row, column] = total


def run_sum_pool2d(inputs, attributes, outputs):
    """Fill the output of op `sum_pool2d`: sums of windows.

    Parameters
    ----------
    inputs : list of int64 arrays
        C-contiguous codes: x [batch, C, H, W].
    attributes : mapping
        Complete attributes: `kernel`, `strides`, `pads`, `mean`.
    outputs : list of one int64 array
        Preallocated and filled completely: y [batch, C, H', W'].
    """
    x, y = inputs[0], outputs[0]
    planes = x.shape[0] * x.shape[1]
    window = window_of(attributes["kernel"], attributes)
    patch = np.empty(window[0] * window[1], dtype=x.dtype)
    _plain_sum_pool2d(x.reshape(planes, *x.shape[2:]), window, patch, y.reshape(planes, *y.shape[2:]))
