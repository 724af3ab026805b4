"""AdderNet and min-type products as differentiable torch functions; definitions: `mfsim/ops/distance/definition.py`.

On values = codes * 2**e the result is the integer result exactly, as long as every partial sum, in units
of the finest grid, is at most 2**24 in float32 (2**53 in float64). While torch.onnx exports, each leaves
one node of the domain `org.mfsim`.

Gradients. `adder`: those with which AdderNets are trained (Chen et al., CVPR 2020, section 3.2): the full
difference x - w for w in place of its sign, and w - x clipped to -1..1 for x, so that deep networks
do not blow up. `min`: the true ones, almost everywhere: sign(w) for x where |x| is the lesser
magnitude, sign(x) for w elsewhere; the function is continuous, so no sign needs a substitute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from mfsim.errors import ShapeError
from mfsim.ops.torch_node import emitted, exporting, four_pads, observed, pair, window_size, zero_pad

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _Adder(torch.autograd.Function):
    """-sum_k |x[..., m, k] - w[..., k, o]|, with x [R, K] and w [K, O], or equal leading axes."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return -torch.cdist(x, w.transpose(-1, -2), p=1.0)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (x, w), (g,) = ctx.saved_tensors, gradients
        grad_x = torch.zeros_like(x)
        for o in range(w.shape[-1]):
            grad_x += g[..., o : o + 1] * (w[..., :, o].unsqueeze(-2) - x).clamp(-1, 1)
        return grad_x, x.transpose(-1, -2) @ g - w * g.sum(-2, keepdim=True)


class _Min(torch.autograd.Function):
    """sum_k sign(x w) min(|x|, |w|), with shapes as in `_Adder`."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        y = x.new_empty((*x.shape[:-1], w.shape[-1]))
        for o in range(w.shape[-1]):
            column = w[..., :, o].unsqueeze(-2)
            bound = column.abs()
            y[..., o] = torch.minimum(torch.maximum(x * column.sign(), -bound), bound).sum(-1)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        (x, w), (g,) = ctx.saved_tensors, gradients
        grad_x, grad_w = torch.zeros_like(x), torch.zeros_like(w)
        size, sign = x.abs(), x.sign()
        for o in range(w.shape[-1]):
            column = w[..., :, o].unsqueeze(-2)
            lesser = size < column.abs()
            weighted = g[..., o : o + 1]
            grad_x += weighted * column.sign() * lesser
            grad_w[..., :, o] = (weighted * sign * ~lesser).sum(-2)
        return grad_x, grad_w


def _matmul(op: str, product: Product, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    if w.ndim < 2 or x.ndim < 1 or x.shape[-1] != w.shape[-2] or (w.ndim > 2 and x.shape[:-2] != w.shape[:-2]):
        raise ShapeError(
            f"x {tuple(x.shape)} must end in K, and w be [K, O] or [..., K, O] with the leading axes of x, "
            f"not {tuple(w.shape)}"
        )
    shape = (*x.shape[:-1], w.shape[-1])
    if exporting():
        return emitted(op, (x, w), {}, shape)
    return product(x.reshape(-1, x.shape[-1]) if w.ndim == 2 else x, w).reshape(shape)


def _conv2d(
    op: str,
    product: Product,
    x: torch.Tensor,
    w: torch.Tensor,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
) -> torch.Tensor:
    strides, dilations, pads = pair("stride", stride), pair("dilation", dilation), four_pads(padding)
    if x.ndim != 4 or w.ndim != 4 or groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` {groups}, not {tuple(x.shape)} and {tuple(w.shape)}"
        )
    plane = window_size(x, w.shape[2:], strides, pads, dilations)
    if exporting():
        attributes = {"strides": list(strides), "pads": list(pads), "dilations": list(dilations), "group": groups}
        return emitted(op, (x, w), attributes, (x.shape[0], w.shape[0], *plane))
    columns = F.unfold(zero_pad(x, pads), w.shape[2:], dilations, 0, strides)
    terms, positions, each = w[0].numel(), plane[0] * plane[1], w.shape[0] // groups
    columns = columns.reshape(x.shape[0], groups, terms, positions).permute(1, 0, 3, 2)
    weights = w.reshape(groups, each, terms).transpose(1, 2)
    sums = [
        product(columns[g].reshape(x.shape[0] * positions, terms), weights[g]).reshape(x.shape[0], positions, each)
        for g in range(groups)
    ]
    return torch.cat(sums, -1).transpose(1, 2).reshape(x.shape[0], w.shape[0], *plane)


@observed
def adder_matmul(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return -sum_k |x[..., k] - w[k, o]| for x [..., K] and w [K, O], or w [..., K, O] with the leading axes of x.

    Parameters
    ----------
    x : float tensor, shape (..., K)
        Activations.
    w : float tensor, shape (K, O) or (..., K, O)
        Weights, or a second activation.

    Returns
    -------
    float tensor, shape (..., O)
        At most 0.

    Raises
    ------
    ShapeError
        If x and w do not fit together.
    """
    return _matmul("AdderMatMul", _Adder.apply, x, w)


@observed
def min_matmul(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return sum_k sign(x w) min(|x|, |w|) for x [..., K] and w [K, O], or w [..., K, O] with the leading axes of x.

    Parameters
    ----------
    x : float tensor, shape (..., K)
        Activations.
    w : float tensor, shape (K, O) or (..., K, O)
        Weights, or a second activation.

    Returns
    -------
    float tensor, shape (..., O)
        The sums.

    Raises
    ------
    ShapeError
        If x and w do not fit together.
    """
    return _matmul("MinMatMul", _Min.apply, x, w)


@observed
def adder_conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """Return the 2-D convolution of x [N, C, H, W] and w [O, C / groups, kh, kw] with -|x - w| as multiplication.

    `padding` is one int, (rows, columns) or (top, left, bottom, right): zeros around x before the operator,
    where a tap gives -|w|.

    Parameters
    ----------
    x : float tensor, shape (N, C, H, W)
        Activations.
    w : float tensor, shape (O, C / groups, kh, kw)
        Weights.
    stride, padding, dilation : int or sequence of int
        Rows and columns; steps and distances at least 1, padding at least 0.
    groups : int
        Independent groups of channels; divides C and O.

    Returns
    -------
    float tensor, shape (N, O, H', W')
        At most 0.

    Raises
    ------
    ShapeError
        If shapes and options do not fit together.
    """
    return _conv2d("AdderConv", _Adder.apply, x, w, stride, padding, dilation, groups)


@observed
def min_conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> torch.Tensor:
    """Return the 2-D convolution of x and w with sign(x w) min(|x|, |w|) as multiplication; options of `adder_conv2d`.

    Parameters
    ----------
    x : float tensor, shape (N, C, H, W)
        Activations.
    w : float tensor, shape (O, C / groups, kh, kw)
        Weights.
    stride, padding, dilation : int or sequence of int
        Rows and columns; steps and distances at least 1, padding at least 0.
    groups : int
        Independent groups of channels; divides C and O.

    Returns
    -------
    float tensor, shape (N, O, H', W')
        The sums.

    Raises
    ------
    ShapeError
        If shapes and options do not fit together.
    """
    return _conv2d("MinConv", _Min.apply, x, w, stride, padding, dilation, groups)
