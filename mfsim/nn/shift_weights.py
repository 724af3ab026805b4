"""`ShiftLinear`, `ShiftConv2d`: layers whose weights are powers of two with a sign, so that products are shifts.

The parameter is a real number; the product takes it rounded in the log domain, with a gradient that passes
straight through. Definition and sources: `mfsim/ops/power_weights.py`, `mfsim/nn/power_weights.py`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from mfsim.nn import power_weights
from mfsim.nn.product_layers import Conv2dProduct, LinearProduct


def _uniform(*shape: int) -> torch.Tensor:
    """Return weights as torch's own dense layers begin: uniform within 1 / sqrt(terms of a sum)."""
    return torch.empty(*shape).uniform_(-1, 1) / math.sqrt(math.prod(shape[1:]))


class ShiftLinear(LinearProduct):
    """Product of the last axis with `weight` rounded to powers of two, plus bias; parameters as in `LinearProduct`."""

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return weights as torch's own linear layer begins."""
        return _uniform(*shape)

    def used_weight(self) -> torch.Tensor:
        """Return the weights rounded to powers of two."""
        return power_weights.power_of_two(self.weight)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the product of x [..., K] and w [K, O]."""
        return power_weights.shift_matmul(x, w)


class ShiftConv2d(Conv2dProduct):
    """Convolution with `weight` rounded to powers of two, plus bias; parameters as in `Conv2dProduct`."""

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return weights as torch's own convolution begins."""
        return _uniform(*shape)

    def used_weight(self) -> torch.Tensor:
        """Return the weights rounded to powers of two."""
        return power_weights.power_of_two(self.weight)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the convolution of x [N, C, H, W] and w [O, C / groups, kh, kw]."""
        return power_weights.shift_conv2d(x, w, **geometry)


@torch.no_grad()
def settle(model: nn.Module) -> nn.Module:
    """Replace the weights of all layers of `model` that round them by what they use, and return the model.

    The network computes the same; an exported file then holds the powers of two themselves.
    """
    for layer in model.modules():
        used = getattr(layer, "used_weight", None)
        if used is not None:
            weight = layer.get_parameter("weight")
            weight.copy_(used())
    return model
