"""Fourier magnitudes of codes: the algorithms of `mfsim/ops/dft_magnitude.py` and `dft_alpha_beta.py` in int64.

`places`, `weights`, `bins` and `factors` are int64, as `mfsim/derived/dft.py` makes them.
"""

from __future__ import annotations

import torch

from mfsim.nn.functional import emitted, exporting
from mfsim.nn.integer.codes import Scale, as_scale, codes_of
from mfsim.nn.integer.norms import integer_root
from mfsim.nn.integer.stages import floored, through_stages


def dft_magnitude(
    x: torch.Tensor,
    x_scale: Scale,
    places: torch.Tensor,
    weights: torch.Tensor,
    bins: torch.Tensor,
    factors: torch.Tensor,
    y_scale: Scale,
) -> torch.Tensor:
    """Return y_scale times the codes of the magnitudes of all bins of x [..., n], whose values lie on x_scale.

    Parameters
    ----------
    places : shape [stages, 3, n]
        Where each code of a stage comes from.
    weights : shape [stages, 4, n]
        By what it is multiplied.
    bins : shape [3, n]
        Places of real and imaginary parts, and which bins are real.
    factors : shape [7]
        2**T, 2**G, and what scales radicands and real bins.
    """
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        return emitted("DFTMagnitude", (x, x_scale, places, weights, bins, factors, y_scale), {}, x.shape)
    one_t, one_g, power_up, power_down, factor, end_up, end_down = factors
    v = through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    real, imaginary, ends = bins
    re, im = v[..., real], v[..., imaginary]
    radicand = floored((re * re + im * im) * (1 - ends) * power_up, power_down)
    magnitude = (integer_root(radicand) + 1) // 2
    at_ends = floored(re.abs() * factor * end_up + end_down // 2, end_down)
    return torch.where(ends != 0, at_ends, magnitude).to(x.dtype) * y_scale


def dft_alpha_beta(
    x: torch.Tensor,
    x_scale: Scale,
    places: torch.Tensor,
    weights: torch.Tensor,
    bins: torch.Tensor,
    factors: torch.Tensor,
    y_scale: Scale,
    products: str = "mul",
) -> torch.Tensor:
    """Return y_scale times the codes of the estimated magnitudes of all bins of x [..., n], whose values lie on x_scale.

    As for `dft_magnitude`, but `factors` [5] are 2**T, 2**G, and what scales estimates; `products` (mul or shift) changes
    no code.
    """
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        inputs = (x, x_scale, places, weights, bins, factors, y_scale)
        return emitted("DFTAlphaBeta", inputs, {"products": products}, x.shape)
    one_t, one_g, factor, up, down = factors
    v = through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    real, imaginary, ends = bins
    re, im = v[..., real].abs(), v[..., imaginary].abs() * (1 - ends)
    greater, smaller = torch.maximum(re, im), torch.minimum(re, im)
    estimate = torch.maximum(8 * greater + smaller, 7 * greater + 4 * smaller)
    return floored(estimate * factor * up + down // 2, down).to(x.dtype) * y_scale
