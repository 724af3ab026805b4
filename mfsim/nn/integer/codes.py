"""Pieces of integer functions: codes of values, rounded quotients, thresholds reached, powers of two."""

from __future__ import annotations

import torch

Scale = torch.Tensor | float


def as_scale(scale: Scale, x: torch.Tensor) -> torch.Tensor:
    """Return `scale` as a tensor of the type and device of x."""
    return torch.as_tensor(scale, dtype=x.dtype, device=x.device)


def codes_of(values: torch.Tensor, scale: Scale) -> torch.Tensor:
    """Return the int64 codes of values that are integers times `scale`."""
    return torch.round(values.detach() / as_scale(scale, values)).to(torch.int64)


def rounded_quotient(numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
    """Return numerator / denominator, not negative and positive, rounded, halves up."""
    return torch.div(2 * numerator + denominator, 2 * denominator, rounding_mode="floor")


def reached(value: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """Return how many of the ascending `thresholds` each value is at least as great as."""
    return torch.searchsorted(thresholds, value.contiguous(), right=True)


def power_of(exponent: torch.Tensor) -> torch.Tensor:
    """Return 2**exponent as int64."""
    return torch.ones_like(exponent) << exponent
