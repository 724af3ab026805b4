"""`MFLinear`, `MFConv2d`, `MFMul`: layers whose products are multiplication-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mfsim.nn import functional
from mfsim.nn.product_layers import Conv2dProduct, LinearProduct

# `MFLinear`: a linear layer whose products are multiplication-free.

INITIAL = 0.03
"""Standard deviation of fresh weights.

Small against a few steps of training, so that a wrong sign turns early: on digits 0.02 to 0.05 reached 98
to 99 %, 0.2 and 0.5 (with which the two parts of a sum are about equal at first) 96 to 98 %.
"""


class MFLinear(LinearProduct):
    """MF product of the last axis with `weight`, plus `bias`.

    Parameters
    ----------
    in_features, out_features : int
        At least 1.
    bias : bool
        Whether there is a bias, 0 at first; needless in front of a batch norm.
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.

    Attributes
    ----------
    weight : parameter, shape [out_features, in_features]
    bias : parameter, shape [out_features], or None

    Raises
    ------
    ShapeError, FormatError
        If a size is less than 1, or an option is unknown.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        form: str = "ef",
        sign_zero: int = 0,
        grid: str = "split",
    ) -> None:
        functional.mf_attributes(form, sign_zero, grid)
        super().__init__(in_features, out_features, bias)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation `INITIAL`.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_features, in_features).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape) * INITIAL

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the MF product.

        Parameters
        ----------
        x : float tensor, shape [..., K]
        w : float tensor, shape [K, O]

        Returns
        -------
        float tensor, shape [..., O]
        """
        return functional.mf_matmul(x, w, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{super().extra_repr()}, form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"


# `MFConv2d`: a 2-D convolution whose products are multiplication-free.


class MFConv2d(Conv2dProduct):
    """MF convolution of [N, C, H, W] with `weight`, plus `bias`.

    Parameters
    ----------
    in_channels, out_channels : int
        Multiples of `groups`.
    kernel_size, stride, dilation : int or (rows, columns)
    padding : int, (rows, columns) or (top, left, bottom, right)
        Zeros put around x before the operator.
    groups : int
    bias : bool
        Whether there is a bias, 0 at first; needless in front of a batch norm.
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.

    Attributes
    ----------
    weight : parameter, shape [out_channels, in_channels / groups, rows, columns]
    bias : parameter, shape [out_channels], or None

    Raises
    ------
    ShapeError, FormatError
        If a size cannot be, or an option is unknown.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        form: str = "ef",
        sign_zero: int = 0,
        grid: str = "split",
    ) -> None:
        functional.mf_attributes(form, sign_zero, grid)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation `INITIAL`.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_channels, in_channels / groups, rows, columns).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape) * INITIAL

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the MF convolution.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
        w : float tensor, shape [O, C / groups, kh, kw]
        **geometry
            `stride`, `padding`, `dilation`, `groups`, as in the class.

        Returns
        -------
        float tensor, shape [N, O, H', W']
        """
        return functional.mf_conv2d(x, w, form=self.form, sign_zero=self.sign_zero, grid=self.grid, **geometry)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{super().extra_repr()}, form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"


# `MFMul`: the element-wise MF operator of two activations as a layer of its own.


class MFMul(nn.Module):
    """The MF operator in place of a * b, element by element.

    Parameters
    ----------
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.

    Raises
    ------
    FormatError
        If an option is unknown.
    """

    def __init__(self, form: str = "ef", sign_zero: int = 0, grid: str = "split") -> None:
        super().__init__()
        functional.mf_attributes(form, sign_zero, grid)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the MF terms, element by element.

        Parameters
        ----------
        a, b : float tensor
            Their shapes broadcast.

        Returns
        -------
        float tensor, of the broadcast shape
        """
        return functional.mf_mul(a, b, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
