"""`AvgPool2d` and `GlobalAvgPool2d`: sums of windows, whose division by a power of two is a relabelling."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mfsim.nn import functional


class AvgPool2d(nn.Module):
    """Mean of each window of [N, C, H, W]; the area must be a power of two.

    Parameters
    ----------
    kernel_size, stride : int or (rows, columns)
        `stride` is the kernel's size by default.
    padding : int, (rows, columns) or (top, left, bottom, right)
        Zeros, which count as values.

    Raises
    ------
    FormatError
        If the area is no power of two.
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = functional.pair("kernel_size", kernel_size)
        functional.check_area(self.kernel_size)
        self.stride = self.kernel_size if stride is None else functional.pair("stride", stride)
        self.padding = functional.four_pads(padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the windows' means.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
            Both sides, padded, hold at least one window.

        Returns
        -------
        float tensor, shape [N, C, H', W']
            H' = (H + top + bottom - rows) // stride + 1, and W' likewise.
        """
        return functional.sum_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class GlobalAvgPool2d(nn.Module):
    """Mean of the whole plane: [N, C, H, W] to [N, C, 1, 1]; H * W must be a power of two."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the planes' means.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
            H * W is a power of two.

        Returns
        -------
        float tensor, shape [N, C, 1, 1]

        Raises
        ------
        FormatError
            If H * W is no power of two.
        """
        return functional.sum_pool2d(x, (int(x.shape[-2]), int(x.shape[-1])))
