"""`Scaling`: a learned gain for each index of one axis, such as the scale v in the transform domain of Pan et al.

A gain is any number, which a device multiplies by, or a power of two, which only relabels the grid.
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn import functional
from mfsim.nn.shift import along, check_axis

KINDS = ("multiply", "shift")
LIMIT = 30
"""Power-of-two gains are 2**-30 .. 2**30."""


class Scaling(nn.Module):
    """x * v along `axis`.

    Parameters
    ----------
    size : int
        Length of the axis, at least 1.
    axis : negative int
        -1 for the last axis, -2 for the one before.
    kind : {"multiply", "shift"}
        Any gains, each a multiplication; or 2**k, k = `weight` rounded, with a gradient that passes straight
        through the rounding. These are positive, and `fold` turns them into a `Shift`.

    Attributes
    ----------
    weight : parameter, shape [size, 1, ...]
        The gains v, or their log2; 1 or 0 at first.

    Raises
    ------
    ShapeError, FormatError
        If `size` is less than 1, or an option is unknown.
    """

    def __init__(self, size: int, axis: int = -1, kind: str = "multiply") -> None:
        super().__init__()
        if size < 1:
            raise ShapeError(f"`size` of a scaling must be at least 1, not {size}")
        if kind not in KINDS:
            raise FormatError(f"`kind` must be one of {', '.join(KINDS)}, not {kind!r}{did_you_mean(str(kind), KINDS)}")
        self.size, self.axis, self.kind = size, check_axis(axis), kind
        self.weight = nn.Parameter(along(torch.full((size,), float(kind == "multiply")), axis))

    def gains(self) -> torch.Tensor:
        """Return the gains that `forward` uses, shape [size, 1, ...]."""
        if self.kind == "multiply":
            return self.weight
        exponents = self.weight.clamp(-LIMIT, LIMIT)
        return torch.exp2(torch.round(exponents).detach() + (exponents - exponents.detach()))

    def exponents(self) -> tuple[int, ...]:
        """Return k for each index, for gains that are powers of two."""
        return tuple(int(k) for k in torch.log2(self.gains().detach().double()).reshape(-1).tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scaled x."""
        if x.ndim < -self.axis or x.shape[self.axis] != self.size:
            raise ShapeError(
                f"a scaling of {self.size} entries along axis {self.axis} does not suit x {tuple(x.shape)}"
            )
        return functional.shift(x, self.gains()) if self.kind == "shift" else x * self.gains()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}, kind={self.kind}"
