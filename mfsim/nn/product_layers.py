"""The base of layers with other products than the dense one: weights, bias, geometry; and layers by the kind of their products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional

# What layers with other products than the dense one share: weights, bias, geometry. A layer adds its product and fresh weights.


class LinearProduct(nn.Module, ABC):
    """A product of the last axis with `weight`, plus `bias`.

    Parameters
    ----------
    in_features, out_features : int
        At least 1.
    bias : bool
        Whether there is a bias, 0 at first; needless in front of a batch norm.

    Attributes
    ----------
    weight : parameter, shape [out_features, in_features]
    bias : parameter, shape [out_features], or None

    Raises
    ------
    ShapeError
        If a size is less than 1.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        if in_features < 1 or out_features < 1:
            raise ShapeError(
                f"`in_features` and `out_features` must be at least 1, not {in_features} and {out_features}"
            )
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(self.fresh(out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    @abstractmethod
    def fresh(self, *shape: int) -> torch.Tensor:
        """Return fresh weights.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_features, in_features).

        Returns
        -------
        float tensor of that shape
        """

    @abstractmethod
    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the matrix product by the layer's own multiplication.

        Parameters
        ----------
        x : float tensor, shape [..., K]
        w : float tensor, shape [K, O]

        Returns
        -------
        float tensor, shape [..., O]
        """

    def used_weight(self) -> torch.Tensor:
        """Return the weights that the product takes."""
        return self.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the product of the last axis with the weights, plus the bias.

        Parameters
        ----------
        x : float tensor, shape [..., in_features]

        Returns
        -------
        float tensor, shape [..., out_features]
        """
        y = self.product(x, self.used_weight().t())
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Conv2dProduct(nn.Module, ABC):
    """A 2-D convolution of [N, C, H, W] with `weight`, plus `bias`.

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

    Attributes
    ----------
    weight : parameter, shape [out_channels, in_channels / groups, rows, columns]
    bias : parameter, shape [out_channels], or None

    Raises
    ------
    ShapeError
        If a size cannot be.
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
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels < 1 or out_channels < 1 or in_channels % groups or out_channels % groups:
            raise ShapeError(
                f"`in_channels` {in_channels} and `out_channels` {out_channels} must be multiples of `groups`, which is {groups}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = functional.pair("kernel_size", kernel_size)
        self.stride, self.dilation = functional.pair("stride", stride), functional.pair("dilation", dilation)
        self.padding = functional.four_pads(padding)
        self.weight = nn.Parameter(self.fresh(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    @abstractmethod
    def fresh(self, *shape: int) -> torch.Tensor:
        """Return fresh weights.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_channels, in_channels / groups, rows, columns).

        Returns
        -------
        float tensor of that shape
        """

    @abstractmethod
    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the 2-D convolution by the layer's own multiplication.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
        w : float tensor, shape [O, C / groups, kh, kw]
        **geometry
            `stride`, `padding`, `dilation`, `groups` of the layer.

        Returns
        -------
        float tensor, shape [N, O, H', W']
        """

    def used_weight(self) -> torch.Tensor:
        """Return the weights that the product takes."""
        return self.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolution with the weights, plus the bias.

        Parameters
        ----------
        x : float tensor, shape [N, in_channels, H, W]

        Returns
        -------
        float tensor, shape [N, out_channels, H', W']
        """
        y = self.product(
            x,
            self.used_weight(),
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
        return y if self.bias is None else y + self.bias[:, None, None]

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}"
        )
