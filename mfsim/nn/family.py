"""AdderNet, min-type and power-of-two layers: `AdderLinear`, `MinLinear`, `ShiftLinear` and their convolutions."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from mfsim.nn.product_layers import Conv2dProduct, LinearProduct
from mfsim.ops.distance import torch as aligned
from mfsim.ops.power_of_two import torch as power_weights

# `AdderLinear`, `AdderConv2d`: layers whose products are negated distances (AdderNet).
#
# Definition and source: `mfsim/ops/distance/definition.py`; gradients: `mfsim/ops/distance/torch.py`. An output is never
# positive without a bias and grows with the number of terms, so a batch norm belongs behind.


class AdderLinear(LinearProduct):
    """-sum |x - weight| + bias over the last axis; parameters as in `LinearProduct`."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1, as AdderNets begin."""
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the product of x [..., K] and w [K, O]."""
        return aligned.adder_matmul(x, w)


class AdderConv2d(Conv2dProduct):
    """Convolution with -|x - w| as multiplication; parameters as in `Conv2dProduct`. A padded tap gives -|w|."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1, as AdderNets begin."""
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the convolution of x [N, C, H, W] and w [O, C / groups, kh, kw]."""
        return aligned.adder_conv2d(x, w, **geometry)


# `MinLinear`, `MinConv2d`: layers whose products are sign(x w) min(|x|, |w|).
#
# Definition and source: `mfsim/ops/distance/definition.py`; gradients: `mfsim/ops/distance/torch.py`.


class MinLinear(LinearProduct):
    """sum sign(x w) min(|x|, |w|) + bias over the last axis; parameters as in `LinearProduct`."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1: of the size of what a batch norm leaves."""
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the product of x [..., K] and w [K, O]."""
        return aligned.min_matmul(x, w)


class MinConv2d(Conv2dProduct):
    """Convolution with sign(x w) min(|x|, |w|) as multiplication; parameters as in `Conv2dProduct`."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1: of the size of what a batch norm leaves."""
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the convolution of x [N, C, H, W] and w [O, C / groups, kh, kw]."""
        return aligned.min_conv2d(x, w, **geometry)


# `ShiftLinear`, `ShiftConv2d`: layers whose weights are powers of two with a sign, so that products are shifts.
#
# The parameter is a real number; the product takes it rounded in the log domain, with a gradient that passes
# straight through. Definition and sources: `mfsim/ops/power_of_two/definition.py`, `mfsim/ops/power_of_two/torch.py`.


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
