"""`AdderLinear`, `AdderConv2d`: layers whose products are negated distances (AdderNet).

Definition and source: `mfsim/ops/aligned.py`; gradients: `mfsim/nn/aligned.py`. An output is never
positive without a bias and grows with the number of terms, so a batch norm belongs behind.
"""

from __future__ import annotations

from typing import Any

import torch

from mfsim.nn import aligned
from mfsim.nn.product_layers import Conv2dProduct, LinearProduct


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
