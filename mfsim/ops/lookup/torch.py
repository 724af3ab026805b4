"""Lookups as differentiable torch functions."""

from __future__ import annotations

import torch

from mfsim.ops.torch_node import emitted, exporting, observed


@observed
def table(
    x: torch.Tensor,
    x_scale: torch.Tensor | float,
    entries: torch.Tensor,
    first: torch.Tensor | int,
    y_scale: torch.Tensor | float,
) -> torch.Tensor:
    """Return `y_scale` times the entry for each x, whose values are integers times `x_scale`.

    Parameters
    ----------
    entries : int64 tensor, shape [size]
        Codes on `y_scale`: one for each code of x from `first` on; codes outside take the nearest one.
    first : int
        Code of x that belongs to the first entry.

    Returns
    -------
    tensor of the shape of x, without a gradient
    """
    x_scale, y_scale = (torch.as_tensor(scale, dtype=x.dtype, device=x.device) for scale in (x_scale, y_scale))
    if exporting():
        return emitted("Table", (x, x_scale, entries, torch.as_tensor(first, device=x.device), y_scale), {}, x.shape)
    places = torch.round(x.detach() / x_scale).to(torch.int64) - first
    return entries[places.clamp(0, len(entries) - 1)].to(x.dtype) * y_scale
