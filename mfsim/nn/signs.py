"""`hard_sign`: the sign inside the multiplication-free layers, with a gradient that trains.

Forward it is the hard sign, so training sees what the device does. Its true derivative is 0, which
leaves weights that should change their sign without a gradient; backward it is that of tanh,
1 - tanh(x)**2, the straight-through estimate that the group's public code of the MF operator uses
(Afrasiyabi et al., arXiv 1702.02676, train with a smooth sign in the same place).
"""

from __future__ import annotations

from typing import Any

import torch


class _HardSign(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, zero: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype) if zero else torch.sign(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradients[0] * (1 - torch.tanh(x) ** 2), None


def hard_sign(x: torch.Tensor, zero: int = 0) -> torch.Tensor:
    """Return the sign of `x` in {-1, 0, 1}; the sign of 0 is `zero` (0 or 1); gradient 1 - tanh(x)**2."""
    signs: torch.Tensor = _HardSign.apply(x, zero)
    return signs
