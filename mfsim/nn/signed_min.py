"""`MinLinear`, `MinConv2d`: layers whose products are sign(x w) min(|x|, |w|).

Definition and source: `mfsim/ops/aligned.py`; gradients: `mfsim/nn/aligned.py`.
"""

from __future__ import annotations

from typing import Any

import torch

from mfsim.nn import aligned
from mfsim.nn.product_layers import Conv2dProduct, LinearProduct


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
