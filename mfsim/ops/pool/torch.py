"""Pools as differentiable torch functions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from mfsim.ops.torch_node import check_area, emitted, exporting, four_pads, observed, pair, window_size, zero_pad


@observed
def sum_pool2d(
    x: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
) -> torch.Tensor:
    """Return the mean of each window of x [N, C, H, W]: its sum, on a scale divided by the area.

    The area must be a power of two, so that the division is a change of scale. Zeros of the padding
    count as values. `stride` is the kernel's size by default.

    Parameters
    ----------
    x : float tensor, shape (N, C, H, W)
        Activations.
    kernel_size : int or sequence of 2 ints
        Rows and columns of the window, at least 1.
    stride : int or sequence of 2 ints, optional
        Steps, at least 1.
    padding : int or sequence of 2 or 4 ints
        Zeros around a plane, at least 0.

    Returns
    -------
    float tensor, shape (N, C, H', W')
        Means.

    Raises
    ------
    ShapeError
        If a size is out of range, or no window fits the padded plane.
    FormatError
        If the area of the window is no power of two.
    """
    kernel, pads = pair("kernel_size", kernel_size), four_pads(padding)
    strides = kernel if stride is None else pair("stride", stride)
    check_area(kernel)
    plane = window_size(x, kernel, strides, pads)
    if exporting():
        attributes = {"kernel_shape": list(kernel), "strides": list(strides), "pads": list(pads)}
        return emitted("SumPool", (x,), attributes, (*x.shape[:2], *plane))
    return F.avg_pool2d(zero_pad(x, pads), kernel, strides)
