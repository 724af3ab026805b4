"""The stages of a fixed-point transform in int64. Definitions: mfsim/derived/dft.py, mfsim/derived/dct.py."""

from __future__ import annotations

import torch


def floored(value: torch.Tensor, divisor: torch.Tensor) -> torch.Tensor:
    """Return value / divisor, floored."""
    return torch.div(value, divisor, rounding_mode="floor")


def through_stages(v: torch.Tensor, places: torch.Tensor, weights: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """Return codes v [..., n] behind stages of `places` [stages, 3, n] and `weights` [stages, 4, n] on 1 / `one`."""
    for (a, b, c), (keep, turn, of_met, of_other) in zip(places, weights, strict=True):
        turned = floored(v[..., b] * of_met + v[..., c] * of_other + one // 2, one)
        v = v[..., a] * keep + turned * turn
    return v
