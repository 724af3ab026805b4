"""Shared loops of convolution and pooling: the codes under one window.

`window` is a tuple (rows, columns, stride down, stride right, padding above, padding to the left,
dilation down, dilation right).
"""

from __future__ import annotations

from mfsim.kernels.jit import kernel


def window_of(kernel_shape, attributes):
    """Return the tuple `window` for a kernel of (rows, columns).

    Parameters
    ----------
    kernel_shape : tuple of int
        Rows and columns of the kernel.
    attributes : mapping
        `strides` (down, right), `pads` (top, left, bottom, right) and, for a convolution, `dilations`.

    Returns
    -------
    tuple of 8 int
        The window.
    """
    top, left, _, _ = attributes["pads"]
    return (*kernel_shape, *attributes["strides"], top, left, *attributes.get("dilations", (1, 1)))


@kernel
def gather(x, first, row, column, window, outside, patch):
    """Fill `patch` with the codes of x [C, H, W] under the window of output (row, column).

    Channels run from `first`, as many as fit `patch`; a place in the padding gets `outside`.

    Parameters
    ----------
    x : int64 array, shape (C, H, W)
        Codes of one sample.
    first : int
        First channel, 0 to C - 1.
    row, column : int
        Place in the output.
    window : tuple of 8 int
        See the module.
    outside : int64
        Code that stands for padding.
    patch : int64 array, shape (channels * rows * columns,)
        Filled, channels first.
    """
    rows, columns, stride_y, stride_x, top, left, step_y, step_x = window
    i, c = 0, first
    while i < patch.size:
        for ky in range(rows):
            y = row * stride_y - top + ky * step_y
            for kx in range(columns):
                z = column * stride_x - left + kx * step_x
                inside = 0 <= y < x.shape[1] and 0 <= z < x.shape[2]
                patch[i] = x[c, y, z] if inside else outside
                i += 1
        c += 1


@kernel
def inside(start, step, taps, size):
    """Return the first tap inside an axis of `size` and the one behind the last, of taps at start + step * k.

    Parameters
    ----------
    start : int
        Place of tap 0 on the axis; negative in the padding in front.
    step : int
        Distance of two taps, at least 1.
    taps : int
        Number of taps, at least 1.
    size : int
        Codes on the axis.

    Returns
    -------
    tuple of int
        (first, end): taps first..end-1 lie inside.
    """
    first = 0 if start >= 0 else (-start + step - 1) // step
    return first, min(taps, (size - start + step - 1) // step)
