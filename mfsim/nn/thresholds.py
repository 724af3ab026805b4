"""`SoftThreshold` and `SmoothThreshold`: thresholds that are learned for each channel or coefficient."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import functional
from mfsim.nn.elementwise import Abs, Mul
from mfsim.nn.gains import along, check_axis
from mfsim.ops.elementwise.soft_threshold import OP as SOFT_THRESHOLD

# `SoftThreshold`: sign(x) max(|x| - T, 0) with a learned T >= 0 for each channel or coefficient.


class SoftThreshold(nn.Module):
    """Soft threshold along `axis`.

    Parameters
    ----------
    size : int
        Number of thresholds: the length of `axis`, or 1 for one that all share.
    axis : negative int
        -1 for the last axis, -3 for the channels of [N, C, H, W].
    initial : float
        Thresholds before training, at least 0.

    Attributes
    ----------
    weight : parameter, shape [size]
        T is its magnitude, which keeps T >= 0 and its gradient alive at 0.
    """

    exported_as: ClassVar[tuple[str, ...]] = SOFT_THRESHOLD.onnx.op_types

    def __init__(self, size: int, axis: int = -1, initial: float = 0.05) -> None:
        super().__init__()
        if size < 1:
            raise ShapeError(f"`size` of a soft threshold must be at least 1, not {size}")
        if not initial >= 0:
            raise FormatError(f"`initial` of a soft threshold must be at least 0, not {initial}")
        self.size, self.axis = size, check_axis(axis)
        self.weight = nn.Parameter(torch.full((size,), float(initial)))

    def thresholds(self) -> torch.Tensor:
        """Return T, shaped so that it broadcasts along `axis`."""
        return along(self.weight.abs(), self.axis)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the thresholded x.

        Parameters
        ----------
        x : float tensor
            Values, of length `size` along `axis` unless `size` is 1.

        Returns
        -------
        float tensor, shape of x
            sign(x) max(abs(x) - T, 0).

        Raises
        ------
        ShapeError
            If x has no such axis, or it has another length.
        """
        if self.size != 1 and (x.ndim < -self.axis or x.shape[self.axis] != self.size):
            raise ShapeError(
                f"a soft threshold of {self.size} entries along axis {self.axis} does not suit x {tuple(x.shape)}"
            )
        return functional.soft_threshold(x, self.thresholds())

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}"


# `SmoothThreshold`: tanh(x) max(|x| - T, 0) with a learned T >= 0 for each channel or coefficient.
#
# The smooth form of the soft threshold in the layers of Pan, Badawi and Cetin: where the sign jumps, tanh
# passes through 0. It is made of layers that quantize each for itself - a table for tanh, the magnitude, a
# threshold on it - and of their product, which is a multiplication of two activations and is counted as one.


class SmoothThreshold(nn.Module):
    """Smooth threshold along `axis`; parameters as in `SoftThreshold`.

    Attributes
    ----------
    tanh, magnitude, threshold, product : modules
        The parts; `threshold` holds T. Of |x| a soft threshold is max(|x| - T, 0).
    """

    def __init__(self, size: int, axis: int = -1, initial: float = 0.05) -> None:
        super().__init__()
        self.size, self.axis = size, axis
        self.tanh, self.magnitude, self.product = nn.Tanh(), Abs(), Mul()
        self.threshold = SoftThreshold(size, axis, initial)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the thresholded x.

        Parameters
        ----------
        x : float tensor
            Values, of length `size` along `axis` unless `size` is 1.

        Returns
        -------
        float tensor, shape of x
            tanh(x) max(abs(x) - T, 0).

        Raises
        ------
        ShapeError
            If x has no such axis, or it has another length.
        """
        y: torch.Tensor = self.product(self.tanh(x), self.threshold(self.magnitude(x)))
        return y

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}"
