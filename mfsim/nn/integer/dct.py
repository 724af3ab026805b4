"""The fast cosine transform of codes: the algorithm of `mfsim/ops/dct.py` in int64, stage by stage."""

from __future__ import annotations

import torch

from mfsim.nn.functional import emitted, exporting
from mfsim.nn.integer.codes import Scale, as_scale, codes_of
from mfsim.nn.integer.stages import floored, through_stages


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

    `places` [stages, 3, n], `weights` [stages, 4, n] and `factors` [4] are int64, as `mfsim/derived/dct.py` makes
    them; `products` (mul or shift) changes no code.
    """
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        return emitted("DCT", (x, x_scale, places, weights, factors, y_scale), {"products": products}, x.shape)
    one_t, one_g, up, down = factors
    v = through_stages(codes_of(x, x_scale) * one_g, places, weights, one_t)
    return floored(v * up + down // 2, down).to(x.dtype) * y_scale
