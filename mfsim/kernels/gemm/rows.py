"""GEMM with its epilogue, ready to run on rows of left operands that lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfsim.kernels.gemm.blocked import Geometry, Product, Target, multiplied, row_products
from mfsim.kernels.rows.epilogue import NOTHING, TILE, fitted, rules_of
from mfsim.kernels.scratch import round_up, scratch

CACHE = 1 << 18
"""Bytes of sums that are worked on at a time."""

OPERANDS = 1 << 20
"""Bytes of left operands that are taken at a time."""


class RowProducts:
    """One or two int8 products of the same rows, with the epilogue of their sums.

    Parameters
    ----------
    sums : list of one or two `Sums`
    after : `Epilogue` or None
        What is done to the sums, by one rule or one for each of `of`.
    y : (low, high)
        The range of the sums.
    columns : slice
        Which of all outputs these are.
    of : int
        All outputs.
    """

    def __init__(self, sums, after, y, columns, of) -> None:
        self.products = [each.product for each in sums]
        first = self.products[0]
        self.layout, self.width, self.first = first.layout, first.width, columns.start
        self.outputs = first.columns
        self.of, self.events = of, after is not None and after.events
        self.unfitted = after is None and len(sums) == 1
        fit: Any = after or fitted(y[0], y[1], [NOTHING], y)
        self.word = fit.word
        self.pool = fit.pool._replace(floor=max(fit.pool.floor, int(np.iinfo(fit.word).min)))
        tile = max(1, TILE // self.width)
        self.shifts = np.zeros((0, 0), self.word)
        if len(sums) > 1:
            shifts = np.zeros((2, self.width), self.word)
            shifts[:, : self.outputs] = [each.shifts for each in sums]
            self.shifts = np.tile(shifts, tile)
        self.rules = rules_of(fit, columns, self.width)
        self.takes = list(dict.fromkeys(take for product in self.products for take in product.takes()))
        self.tables = [
            ([self.takes.index(take) for take in product.takes()], product.inside()) for product in self.products
        ]

    def call(self, addresses, rows, y, turned, safe=2**62):
        """Return the kernel that fills y, with its arguments; it returns the overflows.

        Parameters
        ----------
        addresses : int64 array [1 or 2, takes, runs]
            Where the runs of the first row lie of what `takes` says; the second time for lines from `safe` on, as if
            all lines lay there.
        rows : tuple of int
            (images, lines, columns, pitch, above, stride) of a `Geometry`.
        y : integer array [rows, outputs], or [images, `of`, H, W] if `turned`
        turned : bool
            Whether the channels come before the places.
        safe : int
            That of a `Geometry`; by default behind all lines.

        Returns
        -------
        tuple of a kernel and its arguments
        """
        images, lines, columns, pitch, above, stride = rows
        tables = [
            np.ascontiguousarray((addresses[:, takes, :, None] + inside).reshape(len(addresses), -1))
            for takes, inside in self.tables
        ]
        if self.unfitted and y.dtype == np.int32 and not turned and self.outputs == self.width:
            first = self.products[0]
            block = scratch.get("sums 0", (self.layout.rows, self.width), np.int32)
            return multiplied, (first.steps, stride, tables[0], first.panels, first.start, safe, block, y)
        pool = self.pool
        lines = lines // pool.rows * pool.rows
        most = max(1, CACHE // (4 * self.width * len(self.products)))
        if lines * pitch <= most:
            some_images, some_lines = max(1, min(most // (above * pitch), images)), lines
        else:
            some_images, some_lines = 1, max(pool.rows, most // pitch // pool.rows * pool.rows)
            if pitch == columns == pool.rows == 1:
                some_lines = max(some_lines // 96 * 96, min(96, lines))
        count = ((some_images - 1) * above + some_lines - 1) * pitch + columns
        sums = [
            scratch.get(f"sums {number}", (round_up(count, self.layout.rows), self.width), np.int32)
            for number in range(len(self.products))
        ]
        products = [
            Product(each.steps, table, each.panels, each.start)
            for each, table in zip(self.products, tables, strict=True)
        ]
        made = some_images * (some_lines // pool.rows) * (columns // pool.columns)
        waiting = made if turned or self.outputs != self.width else 0
        # What does not fit is cut off, so that the words with a sign will do.
        target = y.reshape(-1).view(f"i{y.dtype.itemsize}")
        return row_products, (
            products[0], products[-1],
            Geometry(images, lines, columns, pitch, above, some_images, some_lines, stride, safe),
            pool, self.shifts, self.rules,
            Target(int(turned), self.of, self.first, self.outputs),
            sums[0], sums[-1],
            scratch.get("totals", (sums[0].size if self.shifts.size else 0,), self.word),
            scratch.get("line", (columns * self.width,), self.word),
            scratch.get("codes", (waiting * self.width,), target.dtype), target,
        )  # fmt: skip


class Bound:
    """Kernels bound to their arguments, called one after the other.

    Parameters
    ----------
    calls : list of (kernel, arguments)
    arrays : sequence of arrays
        Those that are read through addresses; they must live as long.
    events : bool
        Whether the overflows are returned.
    """

    def __init__(self, calls, arrays, events) -> None:
        self.calls, self.arrays, self.events = calls, arrays, events

    def __call__(self) -> int | None:
        found = 0
        for kernel, arguments in self.calls:
            found += kernel(*arguments) or 0
        return found if self.events else None


class Bindable:
    """The `run` of a fast kernel that can be bound to arrays.

    Whoever runs it on the same arrays again may call what `bind` returns instead, and spare all that comes before the
    kernels.

    Parameters
    ----------
    calls_of : callable
        `calls_of(inputs, outputs)` returns a list of kernels with their arguments.
    events : bool
        Whether overflows are counted.
    """

    def __init__(self, calls_of, events) -> None:
        self.calls_of, self.events = calls_of, events

    def bind(self, inputs, outputs) -> Bound:
        """Return what runs the form on these arrays, whatever codes they hold.

        Parameters
        ----------
        inputs, outputs : sequence of C-contiguous integer arrays
            As `run` takes them; they must stay where they are.

        Returns
        -------
        `Bound`
        """
        return Bound(self.calls_of(inputs, outputs), inputs, self.events)

    def __call__(self, inputs, attributes, outputs) -> int | None:
        return self.bind(inputs, outputs)()


def batches(samples, size, multiple=1):
    """Yield (first, end) of some samples at a time, of `size` bytes each, that stay in the cache.

    All but the last are a multiple of `multiple` samples.

    Parameters
    ----------
    samples : int, at least 0
    size : int, bytes of a sample, at least 0
    multiple : int, at least 1

    Yields
    ------
    tuple of int
        (first, end).
    """
    step = max(1, OPERANDS // max(size, 1) // multiple) * multiple
    for first in range(0, samples, step):
        yield first, min(first + step, samples)


def left_operands(name, places, stride, layout):
    """Return a buffer of this thread for rows of left operands.

    Behind the last row is what may be read of it to fill a block and a step up; whatever lies there is multiplied with
    0 or makes sums that nobody reads.

    Parameters
    ----------
    name : str, of the buffer, see `mfsim.kernels.scratch`
    places : int, rows
    stride : int, operands from row to row
    layout : `Layout`, whose word, rows and step count

    Returns
    -------
    1-D int8 or int16 array
    """
    return scratch.get(name, ((places + layout.rows) * stride + layout.step,), layout.word)


def address_of(array):
    """Return where an array begins.

    Parameters
    ----------
    array : numpy array

    Returns
    -------
    int
        The address of its first element.
    """
    return array.__array_interface__["data"][0]
