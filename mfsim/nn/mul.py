"""`Mul`: the element-wise product of two activations as a layer of its own."""

from __future__ import annotations

import torch
from torch import nn


class Mul(nn.Module):
    """a * b, element by element, as in gated layers."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the product; the shapes broadcast."""
        return a * b
