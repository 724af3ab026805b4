"""`Abs`, `Add`, `Mul`: elementwise operations as layers of their own."""

from __future__ import annotations

import torch
from torch import nn

# `Abs`: the magnitude as a layer of its own.


class Abs(nn.Module):
    """|x|, exact on codes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the magnitude.

        Parameters
        ----------
        x : tensor, any shape

        Returns
        -------
        tensor, of the shape of x
        """
        return x.abs()


# `Add`: the sum of two activations as a layer of its own, which quantization brings to one scale.


class Add(nn.Module):
    """a + b, for residual connections."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the sum.

        Parameters
        ----------
        a, b : tensor
            Their shapes broadcast.

        Returns
        -------
        tensor, of the broadcast shape
        """
        return a + b


# `Mul`: the element-wise product of two activations as a layer of its own.


class Mul(nn.Module):
    """a * b, element by element, as in gated layers."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the product, element by element.

        Parameters
        ----------
        a, b : tensor
            Their shapes broadcast.

        Returns
        -------
        tensor, of the broadcast shape
        """
        return a * b
