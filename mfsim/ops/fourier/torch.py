"""The fixed-point transforms of codes in torch: the algorithms of this family in int64, stage by stage."""

from __future__ import annotations

import torch

from mfsim.ops.torch_codes import Scale, as_scale, codes_of, integer_root
from mfsim.ops.torch_node import emitted, exporting

# The stages of a fixed-point transform in int64. Definitions: mfsim/ops/fourier/dft_tables.py, mfsim/ops/fourier/dct_tables.py.


def _floored(value: torch.Tensor, divisor: torch.Tensor) -> torch.Tensor:
    """Return value / divisor, floored."""
    return torch.div(value, divisor, rounding_mode="floor")


def _through_stages(v: torch.Tensor, places: torch.Tensor, weights: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """Return codes v [..., n] behind stages of `places` [stages, 3, n] and `weights` [stages, 4, n] on 1 / `one`."""
    for (a, b, c), (keep, turn, of_met, of_other) in zip(places, weights, strict=True):
        turned = _floored(v[..., b] * of_met + v[..., c] * of_other + one // 2, one)
        v = v[..., a] * keep + turned * turn
    return v


# The fast cosine transform of codes: the algorithm of `mfsim/ops/fourier/dct.py` in int64, stage by stage.


def dct(
    x: torch.Tensor,
    x_scale: Scale,
    places: torch.Tensor,
    weights: torch.Tensor,
    factors: torch.Tensor,
    y_scale: Scale,
    products: str = "mul",
) -> torch.Tensor:
    """Return y_scale times the codes of the orthonormal cosine transform of x [..., n], whose values lie on x_scale.

    Parameters
    ----------
    x : float tensor, shape (..., n)
        Values on x_scale; n is a power of two of at least 2.
    x_scale : tensor or float
        A power of two.
    places : int64 tensor, shape (stages, 3, n)
        Where each code of a stage comes from; see `mfsim.ops.fourier.dct_tables.stages`.
    weights : int64 tensor, shape (stages, 4, n)
        By what it is multiplied.
    factors : int64 tensor, shape (4,)
        2**T, 2**G, and what scales results up and down.
    y_scale : tensor or float
        2**-F, the grid of the result.
    products : {"mul", "shift"}
        How a device multiplies; changes no code.

    Returns
    -------
    float tensor, shape of x
        Without a gradient.
    """
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        return emitted("DCT", (x, x_scale, places, weights, factors, y_scale), {"products": products}, x.shape)
    one_t, one_g, up, down = factors
    v = _through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    return _floored(v * up + down // 2, down).to(x.dtype) * y_scale


# Fourier magnitudes of codes: the algorithms of `mfsim/ops/fourier/dft_magnitude.py` and `dft_alpha_beta.py` in int64.
#
# `places`, `weights`, `bins` and `factors` are int64, as `mfsim/ops/fourier/dft_tables.py` makes them.


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
    v = _through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    real, imaginary, ends = bins
    re, im = v[..., real], v[..., imaginary]
    radicand = _floored((re * re + im * im) * (1 - ends) * power_up, power_down)
    magnitude = (integer_root(radicand) + 1) // 2
    at_ends = _floored(re.abs() * factor * end_up + end_down // 2, end_down)
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

    Parameters
    ----------
    x : float tensor, shape (..., n)
        Values on x_scale; n is a power of two of at least 4.
    x_scale : tensor or float
        A power of two.
    places : int64 tensor, shape (stages, 3, n)
        Where each code of a stage comes from; see `mfsim.ops.fourier.dft_tables.stages`.
    weights : int64 tensor, shape (stages, 4, n)
        By what it is multiplied.
    bins : int64 tensor, shape (3, n)
        Places of real and imaginary parts, and which bins are real.
    factors : int64 tensor, shape (5,)
        2**T, 2**G, and what scales estimates.
    y_scale : tensor or float
        2**-F, the grid of the result.
    products : {"mul", "shift"}
        How a device multiplies; changes no code.

    Returns
    -------
    float tensor, shape of x
        Without a gradient.
    """
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        inputs = (x, x_scale, places, weights, bins, factors, y_scale)
        return emitted("DFTAlphaBeta", inputs, {"products": products}, x.shape)
    one_t, one_g, factor, up, down = factors
    v = _through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    real, imaginary, ends = bins
    re, im = v[..., real].abs(), v[..., imaginary].abs() * (1 - ends)
    greater, smaller = torch.maximum(re, im), torch.minimum(re, im)
    estimate = torch.maximum(8 * greater + smaller, 7 * greater + 4 * smaller)
    return _floored(estimate * factor * up + down // 2, down).to(x.dtype) * y_scale


# The filterbank of codes by Fourier transforms: the algorithm of `mfsim/ops/fourier/filterbank.py` in int64, stage by stage.


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
        As `mfsim/ops/fourier/filterbank_tables.py` makes them.
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
    spectrum = _through_stages(pairs * one_g, places, weights, one_t)
    gained = _floored(spectrum * g.flatten(1).repeat(1, 2).unsqueeze(1) + one_b // 2, one_b)
    filtered = _through_stages(gained.roll(size, -1), places, weights, one_t).roll(size, -1)
    results = _floored(filtered * up + down // 2, down)
    image = torch.stack((results[..., :size], results[..., size:]), 3).flatten(2, 3)[:, :, :features].transpose(2, 3)
    moved = _floored(q[:, :, :passing] * pass_up + pass_down // 2, pass_down)
    return torch.cat((moved, image), 2).to(x.dtype) * y_scale
