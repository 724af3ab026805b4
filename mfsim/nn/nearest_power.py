"""What the normalisers by a shift share: the gain of a row whose divisor is rounded to a power of two."""

from __future__ import annotations

import torch


def gain_of_nearest_power(total: torch.Tensor) -> torch.Tensor:
    """Return total / 2**k for positive totals, k = log2(total) rounded: within 2**-1/2 .. 2**1/2.

    A row divided by `total` and multiplied by this gain is the row shifted by k. The rounding passes its
    gradient straight through: the gain has none.
    """
    with torch.no_grad():
        return total * torch.exp2(-torch.floor(torch.log2(total) + 0.5))
