"""The filterbank of codes by Fourier transforms: the algorithm of `mfsim/ops/filterbank.py` in int64, stage by stage."""

from __future__ import annotations

import torch

from mfsim.nn.functional import emitted, exporting
from mfsim.nn.integer.codes import Scale, as_scale, codes_of
from mfsim.nn.integer.stages import floored, through_stages


def filterbank(
    x: torch.Tensor,
    x_scale: Scale,
    gains: torch.Tensor,
    gain_scale: Scale,
    places: torch.Tensor,
    weights: torch.Tensor,
    factors: torch.Tensor,
    y_scale: Scale,
    passing: int,
    products: str = "mul",
) -> torch.Tensor:
    """Return y_scale times the codes of the filtered tokens of x [N, heads, tokens, features], on x_scale.

    Parameters
    ----------
    gains : values on gain_scale, shape [heads, g, g]
        Of each frequency, the same for its negative.
    places, weights, factors : int64, shapes [stages, 3, 2 g**2], [stages, 4, 2 g**2], [6]
        As `mfsim/derived/filterbank.py` makes them.
    passing : int
        Tokens in front of the patches that pass through.
    products : {"mul", "shift"}
        Changes no code.
    """
    x_scale, gain_scale, y_scale = (as_scale(scale, x) for scale in (x_scale, gain_scale, y_scale))
    if exporting():
        inputs = (x, x_scale, gains, gain_scale, places, weights, factors, y_scale)
        return emitted("Filterbank", inputs, {"passing": passing, "products": products}, x.shape)
    one_t, one_g, up, down, pass_up, pass_down = factors
    q, g, one_b = codes_of(x, x_scale), codes_of(gains, gain_scale), (1 / gain_scale).to(torch.int64)
    size, features = q.shape[2] - passing, q.shape[3]
    columns = torch.nn.functional.pad(q[:, :, passing:], (0, features % 2)).transpose(2, 3)
    pairs = torch.cat((columns[:, :, ::2], columns[:, :, 1::2]), -1)
    spectrum = through_stages(pairs * one_g, places, weights, one_t)
    gained = floored(spectrum * g.flatten(1).repeat(1, 2).unsqueeze(1) + one_b // 2, one_b)
    filtered = through_stages(gained.roll(size, -1), places, weights, one_t).roll(size, -1)
    results = floored(filtered * up + down // 2, down)
    image = torch.stack((results[..., :size], results[..., size:]), 3).flatten(2, 3)[:, :, :features].transpose(2, 3)
    moved = floored(q[:, :, :passing] * pass_up + pass_down // 2, pass_down)
    return torch.cat((moved, image), 2).to(x.dtype) * y_scale
