"""`DFTMagnitude`: the absolute value of the discrete Fourier transform as a layer."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Return abs(F x) / sqrt(n) of the last axis of length n; the gradient at a bin of 0 is 0."""
    bins: torch.Tensor = torch.fft.fft(x, norm="ortho")
    return bins.abs()


class DFTMagnitude(nn.Module):
    """abs(F x) / sqrt(length) of the last axis, all bins: those above length / 2 mirror the others.

    Not linear: no layer behind it takes the transform in. Its gradient at a bin of 0 is 0.

    Parameters
    ----------
    length : int
        Of the last axis, at least 1.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        if length < 1:
            raise ShapeError(f"`length` of a Fourier transform must be at least 1, not {length}")
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the magnitudes, of the shape of x."""
        if x.ndim < 1 or x.shape[-1] != self.length:
            raise ShapeError(f"a Fourier transform of length {self.length} does not suit x {tuple(x.shape)}")
        return magnitudes(x)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.length}"
