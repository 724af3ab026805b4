"""`MFConv2d`: a 2-D convolution whose products are multiplication-free."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional
from mfsim.nn.mf_matmul import initial_weight


class MFConv2d(nn.Module):
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
        super().__init__()
        if groups < 1 or in_channels < 1 or out_channels < 1 or in_channels % groups or out_channels % groups:
            raise ShapeError(
                f"`in_channels` {in_channels} and `out_channels` {out_channels} must be multiples of `groups`, which is {groups}"
            )
        functional.mf_attributes(form, sign_zero, grid)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = functional.pair("kernel_size", kernel_size)
        self.stride, self.dilation = functional.pair("stride", stride), functional.pair("dilation", dilation)
        self.padding = functional.four_pads(padding)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid
        self.weight = initial_weight(out_channels, in_channels // groups, *self.kernel_size)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output [N, out_channels, H', W']."""
        y = functional.mf_conv2d(
            x,
            self.weight,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
            form=self.form,
            sign_zero=self.sign_zero,
            grid=self.grid,
        )
        return y if self.bias is None else y + self.bias[:, None, None]

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}, "
            f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}"
        )
