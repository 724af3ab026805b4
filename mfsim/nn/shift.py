"""`Shift`: a fixed gain 2**k for each channel, which on a device only relabels the scale."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mfsim.errors import FormatError
from mfsim.nn import functional


def along(values: torch.Tensor, axis: int) -> torch.Tensor:
    """Return the vector `values` shaped so that it broadcasts along the negative `axis`."""
    return values.reshape(-1, *([1] * (-1 - axis)))


def check_axis(axis: int) -> int:
    """Return `axis` if it is negative; a `FormatError` says why it must be."""
    if axis >= 0:
        raise FormatError(f"`axis` must be counted from the end (-1 is the last), not {axis}")
    return axis


class Shift(nn.Module):
    """x * 2**k, with one k, or one for each index of `axis`.

    Parameters
    ----------
    exponents : ints in -62..62
    axis : negative int
        -1 for features, -3 for the channels of [N, C, H, W].

    Attributes
    ----------
    gain : buffer, shape [n, 1, ...]
    """

    gain: torch.Tensor

    def __init__(self, exponents: Sequence[int], axis: int = -1) -> None:
        super().__init__()
        exponents = [int(k) for k in exponents]
        if not exponents or any(not -62 <= k <= 62 for k in exponents):
            raise FormatError(f"`exponents` must be ints in -62..62, not {exponents}")
        self.axis = check_axis(axis)
        self.register_buffer("gain", along(torch.tensor([2.0**k for k in exponents]), axis))

    @property
    def exponents(self) -> tuple[int, ...]:
        """The exponents k."""
        return tuple(int(k) for k in torch.log2(self.gain.detach().double()).flatten().tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x times its gain."""
        return functional.shift(x, self.gain)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"exponents={min(self.exponents)}..{max(self.exponents)}, axis={self.axis}"
