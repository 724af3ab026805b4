"""`Add`: the sum of two activations as a layer of its own, which quantization brings to one scale."""

from __future__ import annotations

import torch
from torch import nn


class Add(nn.Module):
    """a + b, for residual connections."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum; the shapes broadcast."""
        return a + b
