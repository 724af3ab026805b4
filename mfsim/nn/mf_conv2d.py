"""`MFConv2d`: a 2-D convolution whose products are multiplication-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mfsim.nn import functional
from mfsim.nn.mf_matmul import INITIAL
from mfsim.nn.product_layers import Conv2dProduct


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
        """Return normally distributed weights of standard deviation `INITIAL`."""
        return torch.randn(*shape) * INITIAL

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the MF convolution of x [N, C, H, W] and w [O, C / groups, kh, kw]."""
        return functional.mf_conv2d(x, w, form=self.form, sign_zero=self.sign_zero, grid=self.grid, **geometry)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{super().extra_repr()}, form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
