"""Products with power-of-two weights as torch functions; definitions: `mfsim/ops/power_of_two/definition.py`.

`power_of_two` rounds weights in the log domain: sign(w) 2**round(log2 |w|), 0 for 0. Its gradient passes
straight through, as in DeepShift-Q (Elhoushi et al., arXiv 1905.13298), so the weights that are trained are
real numbers. The products are ordinary ones, and while torch.onnx exports they leave one node of the
domain `org.mfsim`, whose weights have to be powers of two then.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from mfsim.errors import ShapeError
from mfsim.ops.torch_node import emitted, exporting, four_pads, observed, pair, window_size, zero_pad

HALF_OCTAVE = 0.5**0.5
"""A mantissa in 1/2..1 below this one is nearer to 1/2 in the log domain."""


def power_of_two(w: torch.Tensor, largest: torch.Tensor | None = None) -> torch.Tensor:
    """Return sign(w) 2**round(log2 |w|), exactly a power of two, or 0 for 0; the gradient is 1.

    While torch.onnx exports, w itself: `mfsim.nn.family.settle` has rounded it before.

    Parameters
    ----------
    w : float tensor
    largest : float tensor, optional
        Powers of two that broadcast against w: the greatest magnitude of the result.
    """
    if exporting():
        return w
    values = w.detach()
    mantissa, exponent = torch.frexp(values)
    exponent = exponent - (mantissa.abs() < HALF_OCTAVE).to(exponent.dtype)
    rounded = torch.ldexp(torch.sign(values), exponent)
    if largest is not None:
        rounded = torch.maximum(torch.minimum(rounded, largest), -largest)
    return rounded + (w - w.detach())


@observed
def shift_matmul(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return x [..., K] times w [K, O], whose entries are 0 or powers of two with a sign.

    Parameters
    ----------
    x : float tensor, shape (..., K)
        Activations.
    w : float tensor, shape (K, O)
        0 or powers of two with a sign.

    Returns
    -------
    float tensor, shape (..., O)
        The product.

    Raises
    ------
    ShapeError
        If x and w do not fit together.
    """
    if w.ndim != 2 or x.ndim < 1 or x.shape[-1] != w.shape[0]:
        raise ShapeError(f"x {tuple(x.shape)} must end in K, and w must be [K, O], not {tuple(w.shape)}")
    if exporting():
        return emitted("ShiftMatMul", (x, w), {}, (*x.shape[:-1], w.shape[-1]))
    return x @ w


@observed
def shift_conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """Return the 2-D convolution of x [N, C, H, W] and w [O, C / groups, kh, kw], entries as in `shift_matmul`.

    `padding` is one int, (rows, columns) or (top, left, bottom, right).

    Parameters
    ----------
    x : float tensor, shape (N, C, H, W)
        Activations.
    w : float tensor, shape (O, C / groups, kh, kw)
        0 or powers of two with a sign.
    stride, padding, dilation : int or sequence of int
        Rows and columns; steps and distances at least 1, padding at least 0.
    groups : int
        Independent groups of channels; divides C and O.

    Returns
    -------
    float tensor, shape (N, O, H', W')
        The convolution.

    Raises
    ------
    ShapeError
        If shapes and options do not fit together.
    """
    strides, dilations, pads = pair("stride", stride), pair("dilation", dilation), four_pads(padding)
    if x.ndim != 4 or w.ndim != 4 or groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` {groups}, not {tuple(x.shape)} and {tuple(w.shape)}"
        )
    plane = window_size(x, w.shape[2:], strides, pads, dilations)
    if exporting():
        attributes = {"strides": list(strides), "pads": list(pads), "dilations": list(dilations), "group": groups}
        return emitted("ShiftConv", (x, w), attributes, (x.shape[0], w.shape[0], *plane))
    return F.conv2d(zero_pad(x, pads), w, None, strides, 0, dilations, groups)
