"""`ShiftBatchNorm1d`, `ShiftBatchNorm2d`: batch norm whose gain for each channel is a power of two.

    y = 2**k (x - mean) + offset,   k = round(log2(gamma / sqrt(variance + eps)))

An MF product is homogeneous only in both operands together, so a gain behind it cannot be folded
into its weights; a power of two is a relabelling of the scale instead, and the offset becomes the
layer's bias. The network is trained with this gain: forward it is 2**k, backward the rounding of
the exponent passes its gradient straight through, mean and variance included.

The learned gain is stored as log2(gamma), so that it stays positive and a weight decay draws it to
1. A negative gain is never missed: negated MF weights negate an `ef` sum.

While training, mean and variance are the batch's. Each training step stores the gain of the running
variance, so that `eval` is exactly x * gain + (offset - gain * running_mean), with no logarithm left.
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional
from mfsim.nn.gains import along

LIMIT = 30
"""Exponents are kept in -30..30, so that a channel without variance does no harm."""


class ShiftBatchNorm1d(nn.Module):
    """Batch norm with power-of-two gains over the last axis of [N, ..., features].

    Parameters
    ----------
    features : int
        At least 1.
    eps : float
        Added to the variance.
    momentum : float
        Weight of the newest batch in the running statistics, in 0..1.

    Attributes
    ----------
    log_gain : parameter, shape [features]
        log2(gamma), 0 at first.
    offset : parameter, shape [features]
        0 at first.
    running_mean, running_var : buffers, shape [features]
    gain : buffer, shape [features]
        2**k as `eval` uses it; 1 before any training.
    """

    axis = -1
    running_mean: torch.Tensor
    running_var: torch.Tensor
    gain: torch.Tensor

    def __init__(self, features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        if features < 1:
            raise ShapeError(f"`features` of a batch norm must be at least 1, not {features}")
        self.features, self.eps, self.momentum = features, eps, momentum
        self.log_gain = nn.Parameter(torch.zeros(features))
        self.offset = nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))
        self.register_buffer("gain", torch.ones(features))

    def _statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        axes = [k for k in range(x.ndim) if k != x.ndim + self.axis]
        count = x.numel() // self.features
        if count < 2:
            raise ShapeError(
                f"batch norm in training needs more than one value for each channel, not x {tuple(x.shape)}"
            )
        variance, mean = torch.var_mean(x, axes, correction=0)
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        self.store_gain()
        return mean, variance

    @torch.no_grad()
    def store_gain(self) -> None:
        """Set `gain` to the power of two nearest to gamma / sqrt(running_var + eps), as each training step does."""
        self.gain.copy_(torch.exp2(torch.round(self._exponent(self.running_var))))

    def _exponent(self, variance: torch.Tensor) -> torch.Tensor:
        """Return log2(gamma / sqrt(variance + eps)), not rounded."""
        return (self.log_gain - torch.log2(variance + self.eps) / 2).clamp(-LIMIT, LIMIT)

    @torch.no_grad()
    def gain_and_offset(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the two vectors [features] with which `eval` is exactly x * gain + offset."""
        return self.gain, self.offset - self.gain * self.running_mean

    def exponents(self) -> tuple[int, ...]:
        """Return k for each channel, as `eval` uses it."""
        return tuple(int(k) for k in torch.log2(self.gain.double()).tolist())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x normalised for each channel; while training, with the batch's statistics, which also move the running ones.

        Parameters
        ----------
        x : float tensor, shape [N, ..., features] or [N, features, H, W]
            The second for `ShiftBatchNorm2d`.

        Returns
        -------
        float tensor, of the shape of x

        Raises
        ------
        ShapeError
            If x has another number of channels, or in training only one value for each.
        """
        if x.ndim < 1 - self.axis or x.shape[self.axis] != self.features:
            raise ShapeError(
                f"a batch norm of {self.features} channels along axis {self.axis} does not suit x {tuple(x.shape)}"
            )
        if not self.training:
            offset = self.offset - self.gain * self.running_mean
            return functional.shift(x, along(self.gain, self.axis)) + along(offset, self.axis)
        mean, variance = self._statistics(x)
        exponent = self._exponent(variance)
        gain = torch.exp2(torch.round(exponent).detach() + (exponent - exponent.detach()))
        return (x - along(mean, self.axis)) * along(gain, self.axis) + along(self.offset, self.axis)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.features}, eps={self.eps}, momentum={self.momentum}"


class ShiftBatchNorm2d(ShiftBatchNorm1d):
    """Batch norm with power-of-two gains over the channels of [N, C, H, W]; see `ShiftBatchNorm1d`."""

    axis = -3
