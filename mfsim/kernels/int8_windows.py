"""Convolutions of ops, prepared for words of 8 bits: windows become rows of int8 products.

What each part takes of x is made once for each code, as an image with padding and the channels last, so that a row
of a window is one run of bytes. Some lines of the output at a time become rows, are multiplied in the cache, and
are written turned.
"""

from __future__ import annotations

import math

import numpy as np

from mfsim.kernels.int8_image import lines, picture
from mfsim.kernels.int8_parts import ending, joined, one_rule, part_of
from mfsim.kernels.int8_product import scratch, up
from mfsim.kernels.jit import kernel
from mfsim.kernels.moves import turn_plane
from mfsim.kernels.windows import window_of

LEAST_OUTPUTS = 8
"""Fewer outputs than this for each of several groups (depthwise) leave most of a product empty: plain form."""


@kernel
def turn(rows, outputs, columns, height, first, output, y):
    """Fill lines `first` onwards of y [n, O, H', W'], from `output`, with rows [lines * columns, `outputs` and more]."""
    width, plane = rows.shape[1], height * columns
    line, end = first, first + rows.shape[0] // columns
    while line < end:
        n, i = line // height, line % height
        count = min(height - i, end - line)
        target = (n * y.shape[1] + output) * plane + i * columns
        turn_plane(rows, (line - first) * columns * width, width, y, target, plane, count * columns, outputs)
        line += count


def prepared(inputs, y, attributes, sums_of, after):
    """Return a `run` for x, constant w [O, C / groups, rows, columns] and perhaps a bias; None if a word is too wide.

    `y` is the range (low, high) of the sums; `sums_of(w [k, n], bias [n], outputs)` returns one or two `Sums` for the
    slice `outputs`, or None. `after` is the `Fit` of the sums, or None.
    """
    w, groups = inputs[1].codes, attributes["groups"]
    each = w.shape[0] // groups
    if groups > 1 and each < LEAST_OUTPUTS:
        return None
    bias = inputs[2].codes if len(inputs) > 2 else np.zeros(len(w), np.int64)
    flat = np.ascontiguousarray(w.transpose(2, 3, 1, 0)).reshape(-1, len(w))
    slices = [slice(g * each, (g + 1) * each) for g in range(groups)]
    sums = [sums_of(np.ascontiguousarray(flat[:, part]), bias[part], part) for part in slices]
    if None in sums:
        return None
    window = window_of(w.shape[2:], attributes)
    end = ending(after, y, len(w))
    ends = [part_of(end, part) for part in slices]

    def run(inputs, attributes, outputs):
        events = _run(inputs[0], sums, ends, w.shape[1], window, attributes["pads"], outputs[0])
        return events if end.fit.events else None

    return run


def _run(x, groups, ends, channels, window, pads, y):
    top, left, bottom, right = pads
    batch, _, height, width = x.shape
    shape = (batch, height + top + bottom, width + left + right, x.shape[1])
    images: dict[tuple[int, int, int], np.ndarray] = {}
    for sums in groups:
        for each in sums:
            for part, flip in zip(each.product.parts, each.product.flips, strict=True):
                key = (part.left, part.places, flip)
                if key not in images:
                    images[key] = scratch.get(f"image {len(images)}", shape, each.product.layout.word)
                    taken = scratch.get("taken", (math.prod(x.shape[1:]),), each.product.layout.word)
                    picture(x, top, left, part.left, part.zero, part.places, flip, taken, images[key])
    total, columns, events = batch * y.shape[2], y.shape[3], 0
    step = max(1, min(each.product.chunk for sums in groups for each in sums) // columns)
    for first in range(0, total, step):
        count = (min(first + step, total) - first) * columns
        for g, sums in enumerate(groups):
            found = []
            for number, each in enumerate(sums):
                product = each.product
                rows = up(count, product.layout.rows)
                a = scratch.get("rows", (rows, product.depth), product.layout.word)
                for part, at, flip in zip(product.parts, product.places, product.flips, strict=True):
                    image = images[part.left, part.places, flip]
                    lines(image, g * channels, channels, window, columns, y.shape[2], first, a[:count], at)
                c = scratch.get(f"sums {number}", (rows, product.width), np.int32)
                product.rows(a, c)
                found.append(c[:count])
            outputs, width = sums[0].shifts.size, found[0].shape[1]
            if len(found) == 1 and not ends[g].changes and y.dtype == np.int32:
                fitted = found[0]
            else:
                fitted = scratch.get("fitted", (count, width if one_rule(sums, ends[g]) else outputs), y.dtype)
                events += joined(sums, found, ends[g], fitted)
            turn(fitted, outputs, columns, y.shape[2], first, g * outputs, y)
    return events
