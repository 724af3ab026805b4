"""Operands of convolutions as int8 products: images with the channels last, and windows of them as rows."""

from __future__ import annotations

from mfsim.kernels.gemm.operand_transform import SIGN, transform_operand
from mfsim.kernels.jit import kernel
from mfsim.kernels.simd.emit import piece
from mfsim.kernels.simd.transpose_block import copy, transpose_plane


@kernel
def picture(x, first, channels, corner, pitch, above, what, zero, places, flip, taken, image):
    """Fill `image` with what a part takes of `channels` of x [n, C, H, W] from `first` on, channels last.

    The place (i, j) of image n begins at ((n * above + i + top) * pitch + j + left) * channels, with (top, left)
    = `corner`: one padding lies between two lines, and between two images. All else is what is taken of the code 0. `taken`
    holds what is taken of a sample, before its channels come last.

    Parameters
    ----------
    x : integer array, shape (n, C, H, W)
        Codes of some samples.
    first, channels : int
        First channel and number of channels of the group.
    corner : tuple of int
        (top, left), places of padding.
    pitch, above : int
        Places from line to line, and lines from image to image.
    what, zero, places, flip : int
        What a part takes of a code; see `transform_operand`.
    taken : array, shape (channels * H * W,)
        Scratch of the word of an operand.
    image : array, flat
        Filled; of the word of an operand.
    """
    _, depth, height, width = x.shape
    top, left = corner
    outside = taken.dtype.type(((zero << places) if what == SIGN else 0) + flip)
    if pitch != width or above != height:
        for k in range(image.size):
            image[k] = outside
    for n in range(x.shape[0]):
        transform_operand(piece(x, (n * depth + first) * height * width, taken.size), taken, what, zero, places, flip)
        at = ((n * above + top) * pitch + left) * channels
        for i in range(height):
            transpose_plane(taken, i * width, height * width, image, at, channels, channels, width)
            at += pitch * channels


@kernel
def windows(image, images, lines, columns, channels, window, pitch, above, rows):
    """Fill `rows` with the im2col matrix of an image of `picture`: windows in a row, each in the order (y, x, channel).

    Parameters
    ----------
    image : array, flat
        What `picture` filled.
    images, lines, columns : int
        Images, and lines and columns of the output.
    channels : int
        Channels of a place.
    window : tuple of 8 int
        See `mfsim.kernels.windows`.
    pitch, above : int
        Places from line to line, and lines from image to image.
    rows : array, flat
        At least images * lines * columns * taps * channels elements, of the word of `image`.
    """
    taps_y, taps_x, stride_y, stride_x, _, _, step_y, step_x = window
    runs, size = (1, taps_x * channels) if step_x == 1 else (taps_x, channels)
    place = 0
    for n in range(images):
        for i in range(lines):
            corner = (n * above + i * stride_y) * pitch * channels
            for _ in range(columns):
                source = corner
                for _ in range(taps_y):
                    for kx in range(runs):
                        copy(image, source + kx * step_x * channels, rows, place, size)
                        place += size
                    source += step_y * pitch * channels
                corner += stride_x * channels
