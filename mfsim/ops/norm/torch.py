"""Norms of codes: the algorithms of `mfsim/ops/norm/root_norms.py` and `mfsim/ops/norm/shift_norms.py` in int64.

Parameters that every function has:

    x           values on x_scale, shape [..., N]
    gamma       values on gamma_scale, shape [N]
    beta        values on y_scale, shape [N]
    eps         int64: added under the root, in units of V 4**-G
    guard       int64: 2**G
    recip_one   int64: 2**K, for the form with one reciprocal
    gamma_pow   int64, shape [N]: gains 2**g as codes 2**(g + 8)
    thresholds  int64: from which statistic on the row is divided by 2, 4, ...
    y_scale     the grid of the result
"""

from __future__ import annotations

import torch

from mfsim.ops.norm.tables import GAIN_PLACES
from mfsim.ops.torch_codes import Scale, codes_of, integer_root, rounded_quotient
from mfsim.ops.torch_node import emitted, exporting

GAIN_ONE = 1 << GAIN_PLACES
"""The code of the gain 1."""


def layer_norm(
    x: torch.Tensor,
    x_scale: Scale,
    gamma: torch.Tensor,
    gamma_scale: Scale,
    beta: torch.Tensor,
    eps: torch.Tensor,
    guard: torch.Tensor,
    y_scale: Scale,
    recip_one: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return LayerNorm of codes: a division for each code, or one for each row where `recip_one` is given.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    gamma : float tensor, shape (N,)
        Values on gamma_scale.
    gamma_scale : tensor or float
        A power of two.
    beta : float tensor, shape (N,)
        Values on y_scale.
    eps : int64 scalar tensor
        Added under the root, in units of V 4**-G.
    guard : int64 scalar tensor
        2**G.
    y_scale : tensor or float
        2**-F, the grid of the result.
    recip_one : int64 scalar tensor, optional
        2**K, the dividend of the reciprocal.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient.
    """
    return _root_norm("LayerNorm", x, x_scale, gamma, gamma_scale, beta, eps, guard, y_scale, recip_one)


def rms_norm(
    x: torch.Tensor,
    x_scale: Scale,
    gamma: torch.Tensor,
    gamma_scale: Scale,
    eps: torch.Tensor,
    guard: torch.Tensor,
    y_scale: Scale,
    recip_one: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return RMSNorm of codes: a division for each code, or one for each row where `recip_one` is given.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    gamma : float tensor, shape (N,)
        Values on gamma_scale.
    gamma_scale : tensor or float
        A power of two.
    eps : int64 scalar tensor
        Added under the root, in units of V 4**-G.
    guard : int64 scalar tensor
        2**G.
    y_scale : tensor or float
        2**-F, the grid of the result.
    recip_one : int64 scalar tensor, optional
        2**K, the dividend of the reciprocal.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient.
    """
    return _root_norm("RMSNorm", x, x_scale, gamma, gamma_scale, None, eps, guard, y_scale, recip_one)


def _root_norm(
    op: str,
    x: torch.Tensor,
    x_scale: Scale,
    gamma: torch.Tensor,
    gamma_scale: Scale,
    beta: torch.Tensor | None,
    eps: torch.Tensor,
    guard: torch.Tensor,
    y_scale: Scale,
    recip_one: torch.Tensor | None,
) -> torch.Tensor:
    x_scale, gamma_scale, y_scale = (torch.as_tensor(scale, dtype=x.dtype) for scale in (x_scale, gamma_scale, y_scale))
    if exporting():
        inputs = [x, x_scale, gamma, gamma_scale, *([] if beta is None else [beta]), eps, guard]
        inputs += [] if recip_one is None else [recip_one]
        return emitted(op if recip_one is None else f"{op}Recip", [*inputs, y_scale], {}, x.shape)
    q, g = codes_of(x, x_scale), codes_of(gamma, gamma_scale)
    width = q.shape[-1]
    deviations, spread = width * q, width * (q * q).sum(-1, keepdim=True)
    if beta is not None:
        total = q.sum(-1, keepdim=True)
        deviations, spread = deviations - total, spread - total * total
    root = integer_root(spread * guard * guard + eps).clamp_min(1)
    places = gamma_scale / y_scale * guard.to(gamma_scale.dtype)
    up, down = places.clamp_min(1).to(torch.int64), (1 / places).clamp_min(1).to(torch.int64)
    weighted = deviations * g
    if recip_one is None:
        magnitude = rounded_quotient(weighted.abs() * up, root * down)
    else:
        reciprocal = torch.div(recip_one, root, rounding_mode="floor")
        divisor = recip_one * down
        magnitude = torch.div(weighted.abs() * up * reciprocal + divisor // 2, divisor, rounding_mode="floor")
    codes = magnitude * weighted.sign()
    if beta is not None:
        codes = codes + codes_of(beta, y_scale)
    return codes.to(x.dtype) * y_scale


def shift_norm(
    x: torch.Tensor,
    x_scale: Scale,
    gamma_pow: torch.Tensor,
    beta: torch.Tensor,
    thresholds: torch.Tensor,
    y_scale: Scale,
    kind: str,
) -> torch.Tensor:
    """Return the shift norm of codes; `kind` is l1 (sum of magnitudes) or l2 (N**2 times the variance).

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    gamma_pow : int64 tensor, shape (N,)
        Gains 2**g as codes 2**(g + 8), g in -8..8.
    beta : float tensor, shape (N,)
        Values on y_scale.
    thresholds : int64 tensor, one axis
        Ascending; from which statistic on the row is divided by 2, 4, ...
    y_scale : tensor or float
        2**-F, F at least 0: the grid of the result.
    kind : {"l1", "l2"}
        Which statistic.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient.
    """
    x_scale, y_scale = (torch.as_tensor(scale, dtype=x.dtype) for scale in (x_scale, y_scale))
    if exporting():
        inputs = (x, x_scale, gamma_pow, beta, thresholds, y_scale)
        return emitted(f"ShiftNorm{kind.upper()}", inputs, {}, x.shape)
    q = codes_of(x, x_scale)
    width = q.shape[-1]
    total = q.sum(-1, keepdim=True)
    deviations = width * q - total
    if kind == "l2":
        statistic = width * (q * q).sum(-1, keepdim=True) - total * total
    else:
        statistic = deviations.abs().sum(-1, keepdim=True)
    reached = (statistic >= thresholds).sum(-1, keepdim=True)
    up = (1 / y_scale).to(torch.int64)
    magnitude = rounded_quotient(deviations.abs() * gamma_pow * up, GAIN_ONE << reached)
    codes = magnitude * deviations.sign() + codes_of(beta, y_scale)
    return codes.to(x.dtype) * y_scale
