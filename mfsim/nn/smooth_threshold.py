"""`SmoothThreshold`: tanh(x) max(|x| - T, 0) with a learned T >= 0 for each channel or coefficient.

The smooth form of the soft threshold in the layers of Pan, Badawi and Cetin: where the sign jumps, tanh
passes through 0. It is made of layers that quantize each for itself - a table for tanh, the magnitude, a
threshold on it - and of their product, which is a multiplication of two activations and is counted as one.
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn.abs import Abs
from mfsim.nn.mul import Mul
from mfsim.nn.soft_threshold import SoftThreshold


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
        """Return the thresholded x."""
        y: torch.Tensor = self.product(self.tanh(x), self.threshold(self.magnitude(x)))
        return y

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}"
