"""Elementwise ops as differentiable torch functions."""

from __future__ import annotations

import torch

from mfsim.ops.torch_node import emitted, exporting, observed


@observed
def soft_threshold(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return sign(x) max(|x| - t, 0) for thresholds t >= 0 that broadcast against x.

    Parameters
    ----------
    x : float tensor
        Of any shape.
    t : float tensor
        Thresholds on the grid of x, at least 0; broadcast against x.

    Returns
    -------
    float tensor, shape of x
        Nearer to 0 than x by t, or 0.
    """
    if exporting():
        return emitted("SoftThreshold", (x, t), {}, x.shape)
    return torch.sign(x) * torch.relu(x.abs() - t)
