"""Fast kernels of the pools."""

from __future__ import annotations

import functools

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import element, piece
from mfsim.kernels.simd.wrapping import add
from mfsim.kernels.windows import inside, window_of

# Fast windows of one channel: the sum or the greatest code, in the words that codes are stored in.
#
# The rows under a window are joined first, whole rows at a time and so whole vectors, then what lies under it in the
# row that results. Sums wrap in the word of the result, so only the whole sum has to fit; codes are compared in
# the word of x.

QUARTERS = (2, 2, 2, 2, 0, 0, 1, 1)
"""The windows of 2 x 2 that do not overlap."""


@kernel
def _joined(greatest, left, right):
    """Return the greater of two codes, or their sum."""
    if greatest:
        return left if left > right else right
    return add(left, right)


@functools.cache
def _planes(greatest):
    """Return the kernel that joins all codes of each plane x [planes, size] into y [planes]; `line` is of their word."""

    @kernel
    def join_planes(x, line, y):
        word, result = line.dtype.type, y.dtype.type
        for p in range(x.shape[0]):
            plane = piece(x, p * x.shape[1], x.shape[1])
            total = word(plane[0])
            for k in range(1, x.shape[1]):
                total = _joined(greatest, total, word(plane[k]))
            y[p] = result(total)

    return join_planes


@functools.cache
def _quarters(greatest):
    """Return the kernel that joins windows of 2 x 2 that do not overlap, of x [planes, H, W], into y [planes, H/2, W/2]."""

    @kernel
    def join_quarters(x, line, y):
        word, result = line.dtype.type, y.dtype.type
        _, height, width = x.shape
        _, lines, outputs = y.shape
        for at in range(y.shape[0] * lines):
            start = (at // lines * height + at % lines * 2) * width
            upper, lower = piece(x, start, width), piece(x, start + width, width)
            target = piece(y, at * outputs, outputs)
            for k in range(outputs):
                above = _joined(greatest, word(element(upper, 2 * k)), word(element(upper, 2 * k + 1)))
                below = _joined(greatest, word(element(lower, 2 * k)), word(element(lower, 2 * k + 1)))
                target[k] = result(_joined(greatest, above, below))

    return join_quarters


@functools.cache
def _windows(greatest):
    """Return the kernel that joins the codes of each window of x [planes, H, W] into y [planes, H', W'].

    `line` is of the word to join in, holds a row with its padding, and has the code of the padding everywhere; `found`
    holds a row of y.
    """

    @kernel
    def join_windows(x, window, line, found, y):
        rows, columns, stride_y, stride_x, top, left, step_y, step_x = window
        _, height, width = x.shape
        _, lines, outputs = y.shape
        word, result, outside = line.dtype.type, y.dtype.type, line[0]
        within = piece(line, left, width)
        for at in range(y.shape[0] * lines):
            above = at % lines * stride_y - top
            first, end = inside(above, step_y, rows, height)
            start = (at // lines * height + above) * width
            if first >= end:
                for k in range(width):
                    within[k] = outside
            for ky in range(first, end):
                source = piece(x, start + ky * step_y * width, width)
                if ky == first:
                    for k in range(width):
                        within[k] = word(source[k])
                else:
                    for k in range(width):
                        within[k] = _joined(greatest, within[k], word(source[k]))
            target = piece(y, at * outputs, outputs)
            for k in range(outputs):
                found[k] = element(line, k * stride_x)
            for kx in range(1, columns):
                tap = piece(line, kx * step_x, line.size - kx * step_x)
                if stride_x == 1:
                    for k in range(outputs):
                        found[k] = _joined(greatest, found[k], tap[k])
                else:
                    for k in range(outputs):
                        found[k] = _joined(greatest, found[k], element(tap, k * stride_x))
            for k in range(outputs):
                target[k] = result(found[k])

    return join_windows


def _prepared_pool(attributes, greatest):
    """Return a `run` of windows that are joined by their greatest code, or by their sum."""
    window = window_of(attributes["kernel"], attributes)
    _, left, _, right = attributes["pads"]
    padded = any(attributes["pads"])

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        count = x.shape[0] * x.shape[1]
        word = (x if greatest else y).dtype
        if x.shape[2:] == window[:2] and not padded:
            _planes(greatest)(x.reshape(count, window[0] * window[1]), np.empty(0, word), y.reshape(count))
            return
        if window == QUARTERS and not padded:
            _quarters(greatest)(x.reshape(count, *x.shape[2:]), np.empty(0, word), y.reshape(count, *y.shape[2:]))
            return
        line = np.full(left + x.shape[3] + right, np.iinfo(word).min if greatest else 0, word)
        found = np.empty(y.shape[3], word)
        _windows(greatest)(x.reshape(count, *x.shape[2:]), window, line, found, y.reshape(count, *y.shape[2:]))

    return run


# max_pool2d, fast kernel: the greatest code of each window, whole rows at a time.

MAX_POOL2D_ISAS = ("portable",)


def prepare_max_pool2d(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W]; shapes are those of one sample.
    outputs : list of one Operand
        y [C, H', W'], with its proved range.
    attributes : mapping
        Complete attributes: `kernel`, `strides`, `pads`, `dilations`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return _prepared_pool(attributes, greatest=True)


# sum_pool2d, fast kernel: the sum of each window, whole rows at a time.

SUM_POOL2D_ISAS = ("portable",)


def prepare_sum_pool2d(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W]; shapes are those of one sample.
    outputs : list of one Operand
        y [C, H', W'], with its proved range.
    attributes : mapping
        Complete attributes: `kernel`, `strides`, `pads`, `mean`.

    Returns
    -------
    callable
        run(inputs, attributes, outputs); it returns None.
    """
    return _prepared_pool(attributes, greatest=False)
