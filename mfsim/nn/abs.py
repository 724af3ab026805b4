"""`Abs`: the magnitude as a layer of its own."""

from __future__ import annotations

import torch
from torch import nn


class Abs(nn.Module):
    """|x|, exact on codes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the magnitude."""
        return x.abs()
