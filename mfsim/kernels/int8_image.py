"""Operands of convolutions as int8 products: images with the channels last, and windows of them as rows."""

from __future__ import annotations

from mfsim.kernels.emit import piece
from mfsim.kernels.int8_take import SIGN, take
from mfsim.kernels.jit import kernel
from mfsim.kernels.moves import copy, turn_plane


@kernel
def picture(x, top, left_pad, left, zero, places, flip, taken, image):
    """Fill image [n, H + pads, W + pads, C] with what a part takes of x [n, C, H, W], or of the code 0 around it.

    `taken` holds what is taken of a sample, before its channels come last.
    """
    _, channels, height, width = x.shape
    _, lines, columns, _ = image.shape
    outside = taken.dtype.type(((zero << places) if left == SIGN else 0) + flip)
    size = channels * height * width
    for n in range(x.shape[0]):
        take(piece(x, n * size, size), taken, left, zero, places, flip)
        at = n * lines * columns * channels
        if size != lines * columns * channels:
            around = piece(image, at, lines * columns * channels)
            for k in range(around.size):
                around[k] = outside
        at += (top * columns + left_pad) * channels
        for i in range(height):
            turn_plane(taken, i * width, height * width, image, at, channels, channels, width)
            at += columns * channels


@kernel
def lines(image, channel, channels, window, columns, height, first, a, at):
    """Fill rows of `a` from column `at` with the windows of output lines `first` onwards, in the order (y, x, channel).

    A line is one row of `columns` outputs of one of the samples, which have `height` of them.
    """
    taps_y, taps_x, stride_y, stride_x, _, _, step_y, step_x = window
    _, above, width, depth = image.shape
    whole = step_x == 1 and channels == depth
    runs, size = (1, taps_x * channels) if whole else (taps_x, channels)
    target = at
    for line in range(first, first + a.shape[0] // columns):
        corner = (line // height * above + line % height * stride_y) * width * depth + channel
        for _ in range(columns):
            source, place = corner, target
            for _ in range(taps_y):
                for kx in range(runs):
                    copy(image, source + kx * step_x * depth, a, place, size)
                    place += size
                source += step_y * width * depth
            corner += stride_x * depth
            target += a.shape[1]
