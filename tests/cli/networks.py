"""Small networks of a user, named as `tests.cli.networks:small` on the command line."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.nn import MFLinear, ShiftBatchNorm1d, WHTLayer


def small() -> nn.Module:
    """Return a multiplication-free network for images of 8 x 8."""
    return nn.Sequential(
        nn.Flatten(),
        MFLinear(64, 16),
        ShiftBatchNorm1d(16),
        nn.ReLU(),
        WHTLayer(16, layout="features"),
        nn.ReLU(),
        MFLinear(16, 10),
    )


def dense() -> nn.Module:
    """Return a network that multiplies."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def ordinary() -> nn.Module:
    """Return a network of torch's own layers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))


def odd() -> nn.Module:
    """Return a network with a transform of a length that is no power of two."""
    return nn.Sequential(nn.Flatten(), MFLinear(64, 12), WHTLayer(12, layout="features"), MFLinear(12, 10))


class Sine(nn.Module):
    """A function that no device of ours has."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return sin(x)."""
        return torch.sin(x)


def unknown() -> nn.Module:
    """Return a network with a layer that cannot be quantized."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), Sine(), nn.Linear(16, 10))
