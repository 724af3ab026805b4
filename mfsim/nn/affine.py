"""`Affine`: one gain and one offset for each channel of the last axis."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean

ALPHAS = ("free", "power-of-two")
"""Gains are any numbers, or powers of two, which are shifts on a device."""
LIMIT = 30
"""Power-of-two gains are 2**-30 .. 2**30."""


class Affine(nn.Module):
    """alpha * x + beta along the last axis.

    Power-of-two gains are 2**k, k = `log_alpha` rounded: forward so, backward the rounding passes its
    gradient straight through. They are positive.

    Parameters
    ----------
    width : int
        Length of the last axis, at least 1.
    alpha : {"free", "power-of-two"}
        What the gains may be.
    initial : float
        Gain before training, above 0.

    Attributes
    ----------
    alpha : parameter, shape [width], for free gains
    log_alpha : parameter, shape [width], for powers of two
        log2 of the gain before it is rounded.
    beta : parameter, shape [width]
        0 at first.

    Raises
    ------
    ShapeError, FormatError
        If `width` is less than 1, `alpha` is unknown, or `initial` is not above 0.
    """

    def __init__(self, width: int, alpha: str = "free", initial: float = 1.0) -> None:
        super().__init__()
        if width < 1:
            raise ShapeError(f"`width` of an affine layer must be at least 1, not {width}")
        if alpha not in ALPHAS:
            raise FormatError(
                f"`alpha` must be one of {', '.join(ALPHAS)}, not {alpha!r}{did_you_mean(str(alpha), ALPHAS)}"
            )
        if not initial > 0:
            raise FormatError(f"`initial` of an affine layer must be above 0, not {initial}")
        self.width, self.kind = width, alpha
        gains = torch.full((width,), float(initial))
        self.alpha = nn.Parameter(gains) if alpha == "free" else None
        self.log_alpha = nn.Parameter(torch.log2(gains)) if alpha != "free" else None
        self.beta = nn.Parameter(torch.zeros(width))

    def gains(self) -> torch.Tensor:
        """Return the gains that `forward` uses, shape [width]."""
        if self.log_alpha is None:
            assert self.alpha is not None
            return self.alpha
        exponents = self.log_alpha.clamp(-LIMIT, LIMIT)
        return torch.exp2(torch.round(exponents).detach() + (exponents - exponents.detach()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return alpha * x + beta."""
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise ShapeError(f"an affine layer of width {self.width} does not suit x {tuple(x.shape)}")
        return x * self.gains() + self.beta

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}, alpha={self.kind}"
