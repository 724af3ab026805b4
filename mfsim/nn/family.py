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
        """Return normally distributed weights of standard deviation 1, as AdderNets begin.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_features, in_features).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the adder product -sum |x - w|.

        Parameters
        ----------
        x : float tensor, shape [..., K]
        w : float tensor, shape [K, O]

        Returns
        -------
        float tensor, shape [..., O]
        """
        return aligned.adder_matmul(x, w)


class AdderConv2d(Conv2dProduct):
    """Convolution with -|x - w| as multiplication; parameters as in `Conv2dProduct`. A padded tap gives -|w|."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1, as AdderNets begin.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_channels, in_channels / groups, rows, columns).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the adder convolution, sums of -|x - w|.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
        w : float tensor, shape [O, C / groups, kh, kw]
        **geometry
            `stride`, `padding`, `dilation`, `groups`, as in `Conv2dProduct`.

        Returns
        -------
        float tensor, shape [N, O, H', W']
        """
        return aligned.adder_conv2d(x, w, **geometry)


# `MinLinear`, `MinConv2d`: layers whose products are sign(x w) min(|x|, |w|).
#
# Definition and source: `mfsim/ops/distance/definition.py`; gradients: `mfsim/ops/distance/torch.py`.


class MinLinear(LinearProduct):
    """sum sign(x w) min(|x|, |w|) + bias over the last axis; parameters as in `LinearProduct`."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1: of the size of what a batch norm leaves.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_features, in_features).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the min-type product sum sign(x w) min(|x|, |w|).

        Parameters
        ----------
        x : float tensor, shape [..., K]
        w : float tensor, shape [K, O]

        Returns
        -------
        float tensor, shape [..., O]
        """
        return aligned.min_matmul(x, w)


class MinConv2d(Conv2dProduct):
    """Convolution with sign(x w) min(|x|, |w|) as multiplication; parameters as in `Conv2dProduct`."""

    grid = "aligned"

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return normally distributed weights of standard deviation 1: of the size of what a batch norm leaves.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_channels, in_channels / groups, rows, columns).

        Returns
        -------
        float tensor of that shape
        """
        return torch.randn(*shape)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the min-type convolution, sums of sign(x w) min(|x|, |w|).

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
        w : float tensor, shape [O, C / groups, kh, kw]
        **geometry
            `stride`, `padding`, `dilation`, `groups`, as in `Conv2dProduct`.

        Returns
        -------
        float tensor, shape [N, O, H', W']
        """
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
        """Return weights as torch's own linear layer begins.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_features, in_features).

        Returns
        -------
        float tensor of that shape
            Uniform within 1 / sqrt(in_features).
        """
        return _uniform(*shape)

    def used_weight(self) -> torch.Tensor:
        """Return the weights rounded to powers of two."""
        return power_weights.power_of_two(self.weight)

    def product(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        """Return the product with weights that are powers of two.

        Parameters
        ----------
        x : float tensor, shape [..., K]
        w : float tensor, shape [K, O]
            Zeros and signed powers of two.

        Returns
        -------
        float tensor, shape [..., O]
        """
        return power_weights.shift_matmul(x, w)


class ShiftConv2d(Conv2dProduct):
    """Convolution with `weight` rounded to powers of two, plus bias; parameters as in `Conv2dProduct`."""

    def fresh(self, *shape: int) -> torch.Tensor:
        """Return weights as torch's own convolution begins.

        Parameters
        ----------
        *shape : int
            Shape of the weights, (out_channels, in_channels / groups, rows, columns).

        Returns
        -------
        float tensor of that shape
            Uniform within 1 / sqrt(terms of a sum).
        """
        return _uniform(*shape)

    def used_weight(self) -> torch.Tensor:
        """Return the weights rounded to powers of two."""
        return power_weights.power_of_two(self.weight)

    def product(self, x: torch.Tensor, w: torch.Tensor, **geometry: Any) -> torch.Tensor:
        """Return the convolution with weights that are powers of two.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
        w : float tensor, shape [O, C / groups, kh, kw]
            Zeros and signed powers of two.
        **geometry
            `stride`, `padding`, `dilation`, `groups`, as in `Conv2dProduct`.

        Returns
        -------
        float tensor, shape [N, O, H', W']
        """
        return power_weights.shift_conv2d(x, w, **geometry)


@torch.no_grad()
def settle(model: nn.Module) -> nn.Module:
    """Replace the weights of all layers of `model` that round them by what they use, and return the model.

    The network computes the same; an exported file then holds the powers of two themselves.

    Parameters
    ----------
    model : torch.nn.Module
        A float network; its weights are changed in place.

    Returns
    -------
    torch.nn.Module
        `model` itself.
    """
    for layer in model.modules():
        used = getattr(layer, "used_weight", None)
        if used is not None:
            weight = layer.get_parameter("weight")
            weight.copy_(used())
    return model
