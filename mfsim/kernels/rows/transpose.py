"""Cache-blocked transpose: neighbouring axes that stay neighbours are one; runs are copied, planes turned in registers."""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.transpose_block import copy, transpose_plane


def transposed(inputs, attributes, outputs):
    """Fill the output with the input, its axes in the order `perm`, by numpy.

    Parameters
    ----------
    inputs : list of one integer array
        x [batch, ...].
    attributes : mapping
        `perm`, a permutation of the axes whose first entry is 0.
    outputs : list of one integer array
        Preallocated, filled completely.
    """
    outputs[0][...] = inputs[0].transpose(attributes["perm"])


@kernel
def _runs(x, sample, size, sources, y):
    """Fill y [samples * sample] with runs of `size` codes, that begin at `sources` in each sample of x."""
    target = 0
    for first in range(0, x.size, sample):
        for source in sources:
            copy(x, first + source, y, target, size)
            target += size


@kernel
def _planes(x, sample, plane, sources, targets, y):
    """Turn planes (rows, columns, steps between the rows of x and of y) from `sources` to `targets` of each sample."""
    rows, columns, step, turned = plane
    for first in range(0, x.size, sample):
        for k in range(sources.size):
            transpose_plane(x, first + sources[k], step, y, first + targets[k], turned, rows, columns)


def _merged(shape, order):
    """Return the shape and the order of the axes with those of length 1 left out and those that stay neighbours as one."""
    order = [axis for axis in order if shape[axis] != 1]
    groups: list[list[int]] = []
    for axis in order:
        if groups and axis == groups[-1][-1] + 1:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    firsts = sorted(group[0] for group in groups)
    lengths = {group[0]: math.prod(shape[axis] for axis in group) for group in groups}
    return [lengths[first] for first in firsts], [firsts.index(group[0]) for group in groups]


def _steps(shape):
    """Return how many codes lie between neighbours along each axis."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _places(shape, strides):
    """Return the flat places of all codes of an array of `shape`, in C order, that lie `strides` apart."""
    found = np.zeros(1, np.int64)
    for n, stride in zip(shape, strides, strict=True):
        found = np.add.outer(found, stride * np.arange(n)).reshape(-1)
    return found


def prepared(inputs, outputs, attributes):
    """Return a `run` for these operands, of any words.

    Parameters
    ----------
    inputs, outputs : list of one Operand
        Shapes of one sample.
    attributes : mapping
        `perm`, a permutation of the axes of a batch whose first entry is 0.

    Returns
    -------
    callable
        run(inputs, attributes, outputs).
    """
    sample = math.prod(inputs[0].shape)
    shape, order = _merged(inputs[0].shape, [axis - 1 for axis in attributes["perm"][1:]])
    strides = [_steps(shape)[axis] for axis in order]
    turned_shape = [shape[axis] for axis in order]
    last = len(order) - 1
    if last < 1:
        return transposed
    if order[last] == last:
        sources = _places(turned_shape[:-1], strides[:-1])
        return _moving(lambda x, y: _runs(x, sample, turned_shape[-1], sources, y))
    # The axis of the columns is the last one of x, that of the rows the last one of y.
    at = order.index(last)
    plane = (turned_shape[-1], turned_shape[at], strides[-1], _steps(turned_shape)[at])
    others = [axis for axis in range(last) if axis != at]
    counts = [turned_shape[axis] for axis in others]
    sources = _places(counts, [strides[axis] for axis in others])
    targets = _places(counts, [_steps(turned_shape)[axis] for axis in others])
    return _moving(lambda x, y: _planes(x, sample, plane, sources, targets, y))


def _moving(move):
    """Return a `run` of `move(x, y)` for flat arrays of one word; where there are two, numpy moves the codes."""

    def run(inputs, attributes, outputs):
        x, y = inputs[0], outputs[0]
        if x.dtype.itemsize != y.dtype.itemsize:
            return transposed(inputs, attributes, outputs)
        # Words without a sign are moved by the kernel of those with one.
        word = f"i{x.dtype.itemsize}"
        return move(x.reshape(-1).view(word), y.reshape(-1).view(word))

    return run
