"""The multiplication-free products as differentiable torch functions, and the sign inside them.

Forward it is the hard sign, so training sees what the device does. Its true derivative is 0, which leaves weights that
should change their sign without a gradient; backward it is that of tanh, 1 - tanh(x)**2, the straight-through estimate
that the group's public code of the MF operator uses (Afrasiyabi et al., arXiv 1702.02676, train with a smooth sign in
the same place).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

from mfsim.errors import ShapeError
from mfsim.ops.products import FORMS, GRIDS
from mfsim.ops.torch_node import choice, emitted, exporting, four_pads, observed, pair, window_size, zero_pad


class _HardSign(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, zero: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype) if zero else torch.sign(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradients[0] * (1 - torch.tanh(x) ** 2), None


def mf_attributes(form: str, sign_zero: int, grid: str) -> dict[str, Any]:
    """Return the three attributes of an MF product, checked.

    Parameters
    ----------
    form : {"ef", "abs"}
        Which MF operator.
    sign_zero : int
        Sign of 0: 0 or 1.
    grid : {"split", "shared", "aligned"}
        Where a device accumulates the two parts.

    Returns
    -------
    dict
        By name, as an exported node has them.

    Raises
    ------
    FormatError
        If a value is not among the choices.
    """
    choice("form", form, FORMS)
    choice("sign_zero", sign_zero, (0, 1))
    choice("grid", grid, GRIDS)
    return {"form": form, "sign_zero": int(sign_zero), "grid": grid}


def _mf(
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    w: torch.Tensor,
    form: str,
    zero: int,
) -> torch.Tensor:
    """Return the MF sum of x and w where `product` is the ordinary bilinear one."""
    signs = hard_sign(x, zero), hard_sign(w, zero)
    if form == "abs":
        x, w = x.abs(), w.abs()
    return product(x, signs[1]) + product(signs[0], w)


@observed
def mf_mul(
    x: torch.Tensor, w: torch.Tensor, *, form: str = "ef", sign_zero: int = 0, grid: str = "split"
) -> torch.Tensor:
    """Return the MF operator in place of x * w, element by element, with broadcasting.

    `form` ef is sign(w) x + sign(x) w; abs is sign(w) |x| + sign(x) |w|. `sign_zero` (0 or 1) is the
    sign of 0. Sources: `mfsim/ops/products.py`.

    Parameters
    ----------
    x, w : float tensors that broadcast
        The operands.
    form : {"ef", "abs"}
        Which MF operator.
    sign_zero : int
        Sign of 0: 0 or 1.
    grid : {"split", "shared", "aligned"}
        Where a device accumulates the two parts; changes no value here.

    Returns
    -------
    float tensor, shape of both, broadcast
        Values on the finer of the grids of x and w.

    Raises
    ------
    FormatError
        If an option is not among its choices.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    if exporting():
        return emitted("MFMul", (x, w), attributes, torch.broadcast_shapes(x.shape, w.shape))
    return _mf(torch.mul, x, w, form, sign_zero)


@observed
def mf_matmul(
    x: torch.Tensor, w: torch.Tensor, *, form: str = "ef", sign_zero: int = 0, grid: str = "split"
) -> torch.Tensor:
    """Return the matrix product of x [..., K] and w with the MF operator as multiplication.

    `w` is [K, O], or [..., K, O] with the leading axes of x [..., M, K]. Options as in `mf_mul`.
    Two ordinary products with signs, 2K - 1 additions for each output on a device.

    Parameters
    ----------
    x : float tensor, shape (..., K)
        Activations.
    w : float tensor, shape (K, O) or (..., K, O)
        Weights, or a second activation.
    form : {"ef", "abs"}
        Which MF operator.
    sign_zero : int
        Sign of 0: 0 or 1.
    grid : {"split", "shared", "aligned"}
        Where a device accumulates the two parts; changes no value here.

    Returns
    -------
    float tensor, shape (..., O)
        Values on the finer of the grids of x and w.

    Raises
    ------
    ShapeError
        If x and w do not fit together.
    FormatError
        If an option is not among its choices.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    if w.ndim < 2 or x.ndim < 1 or x.shape[-1] != w.shape[-2]:
        raise ShapeError(f"x {tuple(x.shape)} must end in K, and w must end in [K, O], not {tuple(w.shape)}")
    if exporting():
        return emitted("MFMatMul", (x, w), attributes, (*x.shape[:-1], w.shape[-1]))
    return _mf(torch.matmul, x, w, form, sign_zero)


@observed
def mf_conv2d(
    x: torch.Tensor,
    w: torch.Tensor,
    *,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    form: str = "ef",
    sign_zero: int = 0,
    grid: str = "split",
) -> torch.Tensor:
    """Return the 2-D convolution of x [N, C, H, W] with the MF operator as multiplication.

    `w` is [O, C / groups, kh, kw]. `padding` is one int, (rows, columns) or (top, left, bottom,
    right); zeros are put around x before the operator, so that with `sign_zero` 1 they count as
    positive. Options as in `mf_mul`.

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
    form : {"ef", "abs"}
        Which MF operator.
    sign_zero : int
        Sign of 0: 0 or 1.
    grid : {"split", "shared", "aligned"}
        Where a device accumulates the two parts; changes no value here.

    Returns
    -------
    float tensor, shape (N, O, H', W')
        Values on the finer of the grids of x and w.

    Raises
    ------
    ShapeError
        If shapes and options do not fit together.
    FormatError
        If an option is not among its choices.
    """
    attributes = mf_attributes(form, sign_zero, grid)
    strides, dilations, pads = pair("stride", stride), pair("dilation", dilation), four_pads(padding)
    if x.ndim != 4 or w.ndim != 4 or groups < 1 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(
            f"x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` {groups}, not {tuple(x.shape)} and {tuple(w.shape)}"
        )
    plane = window_size(x, w.shape[2:], strides, pads, dilations)
    if exporting():
        attributes |= {"strides": list(strides), "pads": list(pads), "dilations": list(dilations), "group": groups}
        return emitted("MFConv", (x, w), attributes, (x.shape[0], w.shape[0], *plane))
    convolve = functools.partial(F.conv2d, stride=strides, dilation=dilations, groups=groups)
    return _mf(convolve, zero_pad(x, pads), w, form, sign_zero)


def hard_sign(x: torch.Tensor, zero: int = 0) -> torch.Tensor:
    """Return the sign of `x` in {-1, 0, 1}; the sign of 0 is `zero` (0 or 1); gradient 1 - tanh(x)**2.

    Parameters
    ----------
    x : float tensor
        Of any shape.
    zero : int
        Sign of 0: 0 or 1.

    Returns
    -------
    float tensor, same shape
        -1, 0 or 1.
    """
    signs: torch.Tensor = _HardSign.apply(x, zero)
    return signs
