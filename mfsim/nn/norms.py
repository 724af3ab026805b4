"""`LayerNorm`, `RMSNorm`, `ShiftNorm`: norms over the last axis, each row by its own statistics.

    LayerNorm   weight (x - mean) / sqrt(variance + eps) + bias
    RMSNorm     weight x / sqrt(mean(x**2) + eps)
    ShiftNorm   2**g (x - mean) / p + bias,   p / N = sigma rounded, as N sigma is to the nearest power of two

These are the float functions; quantized, they become the integer ops of the same names in `mfsim.ops`.
`form` says how the device divides: N times a row, or once (a reciprocal, then products). The float
function is one.

`ShiftNorm` is a function of its own, not an approximation of LayerNorm: a row comes out 2**-1/2 .. 2**1/2
times as large. Train with it. sigma is sqrt(mean((x - mean)**2)) (kind `l2`), or
sqrt(pi / 2) mean|x - mean| (kind `l1`), which is the same for Gaussian rows and needs no square.
"""

from __future__ import annotations

import math

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.ops.norm.tables import GAIN_PLACES

FORMS = ("division", "reciprocal")
"""How a device divides by the root: each element, or by one reciprocal for each row."""
KINDS = ("l1", "l2")
"""Whether sigma is measured by absolute values or by squares."""
LEAST_LOG = -12.0
"""Least log2(N sigma): below it a row is constant but for the rounding of its mean, which must not be blown up."""
TINY = 1e-30
"""Keeps the logarithm of a constant row, and its gradient, finite."""


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise FormatError(f"`{name}` of a norm must be one of {', '.join(allowed)}, not {value!r}{hint}")


class _RowNorm(nn.Module):
    """What the norms share: a width that the last axis must have."""

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 1:
            raise ShapeError(f"`width` of a norm must be at least 1, not {width}")
        self.width = width

    def check(self, x: torch.Tensor) -> torch.Tensor:
        """Return x if its last axis has the norm's width."""
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise ShapeError(f"a norm of width {self.width} does not suit x {tuple(x.shape)}")
        return x


class _RootNorm(_RowNorm):
    """A norm that divides by a square root: `eps` and `form`, checked."""

    def __init__(self, width: int, eps: float, form: str) -> None:
        super().__init__(width)
        if not (eps >= 0 and math.isfinite(eps)):
            raise FormatError(f"`eps` of a norm must be finite and at least 0, not {eps}")
        _check_choice("form", form, FORMS)
        self.eps, self.form = eps, form
        self.weight = nn.Parameter(torch.ones(width))

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}, eps={self.eps}, form={self.form}"


def power_gains(log_gain: torch.Tensor) -> torch.Tensor:
    """Return 2**g, g = `log_gain` rounded in -8..8; the rounding passes its gradient straight through.

    Parameters
    ----------
    log_gain : float tensor, any shape
        Exponents before they are rounded; limited to -8..8.

    Returns
    -------
    float tensor, of the same shape
        Powers of two, 2**-8 .. 2**8.
    """
    limited = log_gain.clamp(-GAIN_PLACES, GAIN_PLACES)
    return torch.exp2(torch.round(limited).detach() + (limited - limited.detach()))


def over_power(x: torch.Tensor, kind: str) -> torch.Tensor:
    """Return N (x - mean) / 2**k over the last axis, k the nearest integer to log2(N sigma); see `ShiftNorm`.

    Parameters
    ----------
    x : float tensor, shape [..., N]
    kind : {"l1", "l2"}
        How sigma is measured; see the module header.

    Returns
    -------
    float tensor, of the shape of x
    """
    width, centred = x.shape[-1], x - x.mean(-1, keepdim=True)
    if kind == "l2":
        log_sigma = torch.log2(centred.square().mean(-1, keepdim=True) * width**2 + TINY) / 2
    else:
        deviation = centred.abs().mean(-1, keepdim=True)
        log_sigma = torch.log2(deviation * (width * math.sqrt(math.pi / 2)) + TINY)
    log_sigma = log_sigma.clamp_min(LEAST_LOG)
    k = torch.floor(log_sigma + 0.5).detach() + (log_sigma - log_sigma.detach())
    return centred * width * torch.exp2(-k)


class LayerNorm(_RootNorm):
    """weight * (x - mean) / sqrt(variance + eps) + bias over the last axis.

    Parameters
    ----------
    width : int
        Length of the last axis, at least 1.
    eps : float
        At least 0.
    form : {"division", "reciprocal"}
        How the quantized layer divides; the float function is the same.

    Attributes
    ----------
    weight, bias : parameters, shape [width]
        1 and 0 at first.
    """

    def __init__(self, width: int, eps: float = 1e-5, form: str = "division") -> None:
        super().__init__(width, eps, form)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the rows, normalised by mean and standard deviation.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        return nn.functional.layer_norm(self.check(x), (self.width,), self.weight, self.bias, self.eps)


class RMSNorm(_RootNorm):
    """weight * x / sqrt(mean(x**2) + eps) over the last axis; parameters as in `LayerNorm`, without bias.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
    """

    def __init__(self, width: int, eps: float = 1e-5, form: str = "division") -> None:
        super().__init__(width, eps, form)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the rows, normalised by their root mean square.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        return nn.functional.rms_norm(self.check(x), (self.width,), self.weight, self.eps)


class ShiftNorm(_RowNorm):
    """2**g N (x - mean) / 2**k + bias over the last axis, k the nearest integer to log2(N sigma).

    Forward the gains are powers of two; backward the rounding of both exponents passes its gradient
    straight through, so sigma and `log_gain` are trained.

    Parameters
    ----------
    width : int
        N, the length of the last axis, at least 1.
    kind : {"l1", "l2"}
        sigma as sqrt(pi / 2) mean|x - mean|, or as sqrt(mean((x - mean)**2)).

    Attributes
    ----------
    log_gain : parameter, shape [width]
        g before it is rounded to an integer in -8..8; 0 at first.
    bias : parameter, shape [width]
        0 at first.
    """

    def __init__(self, width: int, kind: str = "l1") -> None:
        super().__init__(width)
        _check_choice("kind", kind, KINDS)
        self.kind = kind
        self.log_gain = nn.Parameter(torch.zeros(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def exponents(self) -> tuple[int, ...]:
        """Return g for each channel, rounded as the forward pass does."""
        return tuple(int(g) for g in torch.log2(power_gains(self.log_gain.detach())).tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the rows, centred and shifted by the nearest power of two of their deviation.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        return over_power(self.check(x), self.kind) * power_gains(self.log_gain) + self.bias

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}, kind={self.kind}"
