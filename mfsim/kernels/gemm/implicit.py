"""Convolutions of ops, prepared for words of 8 bits: windows are the rows of int8 products.

What each part takes of x is made once for each code, as an image with padding and the channels last, so that a row
of a window is one run of bytes. Where windows follow each other at every place, the product reads the runs where
they lie; else they are gathered first.
"""

from __future__ import annotations

import numpy as np

from mfsim.kernels import cpu
from mfsim.kernels.gemm.im2col import picture, windows
from mfsim.kernels.gemm.product import LAYOUTS
from mfsim.kernels.gemm.rows import Bindable, RowProducts, address_of, batches, left_operands
from mfsim.kernels.scratch import round_up, scratch
from mfsim.kernels.windows import window_of

LEAST_OUTPUTS = 8
"""Fewer outputs than this for each of several groups (depthwise) leave most of a product empty: plain kernel."""

MOST_STEPS = 4
"""Runs are read where they lie if the product has not more than so many times the steps of gathered windows."""


def prepared(inputs, y, attributes, sums_of, after, direct=True):
    """Return a `run` for x, constant w [O, C / groups, rows, columns] and perhaps a bias; None if a word is too wide.

    `y` is the range (low, high) of the sums; `sums_of(w [k, n], bias [n], outputs, run)` returns one or two `Sums` for the
    slice `outputs`, or None; `run` is that of an `Int8Product`. `after` is the `Epilogue` of the sums, or None. `direct` is
    whether the products have runs at all.

    Parameters
    ----------
    inputs : list of Operand
        x [C, H, W] of a sample; constant w [O, C / groups, rows, columns]; perhaps a constant bias [O].
    y : tuple of int
        Proved range (low, high) of the sums, in codes.
    attributes : mapping
        Complete attributes of the convolution: `strides`, `pads`, `dilations`, `groups`.
    sums_of : callable
        (w, bias, outputs, run) to a list of one or two `Sums`, or None.
    after : Epilogue or None
        What is done to the sums before they are written.
    direct : bool
        Whether runs of an image may be read where they lie.

    Returns
    -------
    Bindable or None
        None also where a group of several has fewer than `LEAST_OUTPUTS` outputs.
    """
    w, groups = inputs[1].codes, attributes["groups"]
    each = w.shape[0] // groups
    if groups > 1 and each < LEAST_OUTPUTS:
        return None
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(len(w), np.int64)
    flat = np.ascontiguousarray(w.transpose(2, 3, 1, 0)).reshape(-1, len(w))
    slices = [slice(g * each, (g + 1) * each) for g in range(groups)]
    window = window_of(w.shape[2:], attributes)
    run_length = _run_length(w.shape[1], window) if direct else None
    sums = [sums_of(np.ascontiguousarray(flat[:, part]), bias[part], part, run_length or len(flat)) for part in slices]
    if None in sums:
        return None
    products = [RowProducts(found, after, y, part, len(w)) for found, part in zip(sums, slices, strict=True)]

    def calls_of(inputs, outputs):
        return _calls(inputs[0], products, w.shape[1], window, run_length, attributes["pads"], outputs[0])

    return Bindable(calls_of, products[0].events)


def _run_length(channels, window):
    """Return how many operands of a window lie together, or None if it is better to gather all of them."""
    rows, columns, stride_y, stride_x, _, _, _, step_x = window
    step = LAYOUTS[cpu.best(tuple(LAYOUTS))].step
    length = (columns if step_x == 1 else 1) * channels
    runs = rows * columns * channels // length
    gathered = round_up(runs * length, step) // step
    return (
        length if stride_y == stride_x == 1 and runs * round_up(length, step) // step <= MOST_STEPS * gathered else None
    )


def _calls(x, products, channels, window, run_length, pads, y):
    """Return the kernels, with their arguments, that fill y, and return the overflows."""
    top, left, bottom, right = pads
    rows, columns, stride_y, stride_x, _, _, step_y, step_x = window
    layout = products[0].layout
    size = np.dtype(layout.word).itemsize
    _, _, height, width = x.shape
    pitch, above = width + max(left, right), height + max(top, bottom)
    lines, line = (
        (length + sum(ends) - step * (taps - 1) - 1) // stride + 1
        for length, ends, step, taps, stride in (
            (height, (top, bottom), step_y, rows, stride_y),
            (width, (left, right), step_x, columns, stride_x),
        )
    )
    length = rows * columns * channels
    each = (above * pitch * channels if run_length else lines * line * length) * size
    calls = []
    taps = [(i * step_y, j * step_x) for i in range(rows) for j in range(columns)]
    if run_length and step_x == 1:
        taps = taps[::columns]
    runs = np.array([(i * pitch + j) * channels * size for i, j in taps])
    for product in products:
        takes = product.takes
        for first, end in batches(len(x), each * len(takes)):
            count, addresses = end - first, np.zeros((1, len(takes), len(runs) if run_length else 1), np.int64)
            for number, what in enumerate(takes):
                places = (count * above + top + bottom + 1) * pitch + left + right
                image = left_operands(f"image {number}", places, channels, layout)
                taken = scratch.get("taken", (channels * height * width,), layout.word)
                group = product.first // product.outputs * channels
                placed = (top, left), pitch, above
                calls.append((picture, (x[first:end], group, channels, *placed, *what, taken, image)))
                if run_length:
                    addresses[0, number] = address_of(image) + runs
                else:
                    gathered = left_operands(f"left operands {number}", count * lines * line, length, layout)
                    calls.append((windows, (image, count, lines, line, channels, window, pitch, above, gathered)))
                    addresses[0, number] = address_of(gathered)
            if run_length:
                found = count, lines, line, pitch, above, channels * size
            else:
                found = count, lines, line, line, lines, length * size
            calls.append(product.call(addresses, found, y[first:end], turned=True))
    return calls
