"""Softmax and tanh-l1 of codes in torch: the algorithms of this family in int64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from mfsim.ops.torch_codes import Scale, as_scale, codes_of, power_of, reached, rounded_quotient
from mfsim.ops.torch_node import emitted, exporting

# Softmax of codes: the algorithms of `mfsim/ops/softmax*.py` in int64.
#
# Parameters that every function has:
#
#     x           values on x_scale, shape [..., N]
#     exp_table   int64 [size], from 2**P (`mfsim.ops.softmax.tables.exp_table`)
#     y_scale     2**-F, the grid of the result
#     mask        0 and 1, broadcast against x: what each row sees. None for everything; a row that sees
#                 nothing is 0
#
# Each returns y_scale times the codes of the op, in the type of x, without a gradient.

HIDDEN_CODE = -(2**62)
"""Less than every code, and so that a difference to a code still fits int64."""


def softmax(
    x: torch.Tensor, x_scale: Scale, exp_table: torch.Tensor, y_scale: Scale, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Return softmax by a division for each entry.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    exp_table : int64 tensor, shape (size,)
        Never rising, from 2**P; see `mfsim.ops.softmax.tables.exp_table`.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """

    def divided(d: torch.Tensor, t: torch.Tensor, total: torch.Tensor, one: int) -> torch.Tensor:
        return rounded_quotient(t * one, total)

    return _softmax("Softmax", x, x_scale, exp_table, (), y_scale, mask, divided)


def softmax_recip(
    x: torch.Tensor,
    x_scale: Scale,
    exp_table: torch.Tensor,
    recip_one: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return softmax by one reciprocal for each row; `recip_one` is an int64 scalar, 2**K.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    exp_table : int64 tensor, shape (size,)
        Never rising, from 2**P; see `mfsim.ops.softmax.tables.exp_table`.
    recip_one : int64 scalar tensor
        2**K, the dividend of the reciprocal.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """

    def divided(d: torch.Tensor, t: torch.Tensor, total: torch.Tensor, one: int) -> torch.Tensor:
        gap = torch.div(recip_one, one, rounding_mode="floor")
        inverse = torch.div(recip_one, total, rounding_mode="floor")
        return torch.div(t * inverse + gap // 2, gap, rounding_mode="floor")

    return _softmax("SoftmaxRecip", x, x_scale, exp_table, (recip_one,), y_scale, mask, divided)


def softmax_shift(
    x: torch.Tensor,
    x_scale: Scale,
    exp_table: torch.Tensor,
    thresholds: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return softmax with the row sum rounded to a power of two; `thresholds` is int64 and ascending.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    exp_table : int64 tensor, shape (size,)
        Never rising, from 2**P; see `mfsim.ops.softmax.tables.exp_table`.
    thresholds : int64 tensor, one axis
        Ascending; how many a sum reaches is its exponent.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """

    def divided(d: torch.Tensor, t: torch.Tensor, total: torch.Tensor, one: int) -> torch.Tensor:
        gap = torch.div(power_of(reached(total, thresholds)), one, rounding_mode="floor")
        return torch.div(t + gap // 2, gap, rounding_mode="floor")

    return _softmax("SoftmaxShift", x, x_scale, exp_table, (thresholds,), y_scale, mask, divided)


def softmax_log(
    x: torch.Tensor,
    x_scale: Scale,
    exp_table: torch.Tensor,
    thresholds: torch.Tensor,
    lnk_table: torch.Tensor,
    lnm_table: torch.Tensor,
    out_table: torch.Tensor,
    fine: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return softmax by a subtraction in the log domain; the int64 tables are those of `mfsim.ops.softmax.tables.LogTables`.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    exp_table : int64 tensor, shape (size,)
        Never rising, from 2**P; see `mfsim.ops.softmax.tables.exp_table`.
    thresholds : int64 tensor, shape (n + 1,)
        Powers of two from 2**(P + 1).
    lnk_table, lnm_table, out_table : int64 tensors, one axis
        Logarithms of the exponent and of the mantissa of a sum, and results.
    fine : int64 scalar tensor
        2**g.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """

    def divided(d: torch.Tensor, t: torch.Tensor, total: torch.Tensor, one: int) -> torch.Tensor:
        j = reached(total, thresholds)
        power, mantissas = power_of(j) * torch.div(thresholds[0], 2, rounding_mode="floor"), len(lnm_table) - 1
        u = rounded_quotient(total * mantissas, power) - mantissas
        place = d * fine + lnk_table[j] + lnm_table[u]
        return out_table[place.clamp_max(len(out_table) - 1)]

    constants = (thresholds, lnk_table, lnm_table, out_table, fine)
    return _softmax("SoftmaxLog", x, x_scale, exp_table, constants, y_scale, mask, divided)


def _softmax(
    op: str,
    x: torch.Tensor,
    x_scale: Scale,
    exp_table: torch.Tensor,
    constants: Sequence[torch.Tensor],
    y_scale: Scale,
    mask: torch.Tensor | None,
    divided: Callable[[torch.Tensor, torch.Tensor, torch.Tensor, int], torch.Tensor],
) -> torch.Tensor:
    """Return the result of `divided(d, t, S, 2**F)`; one node of `op`, or of its masked form, while torch exports."""
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        inputs = (x, x_scale, exp_table, *constants, y_scale)
        return (
            emitted(op, inputs, {}, x.shape) if mask is None else emitted(f"Masked{op}", (*inputs, mask), {}, x.shape)
        )
    q = codes_of(x, x_scale)
    seen = None if mask is None else mask != 0
    shown = q if seen is None else torch.where(seen, q, HIDDEN_CODE)
    d = shown.amax(-1, keepdim=True) - q
    d = d if seen is None else torch.where(seen, d, 0)
    t = exp_table[d.clamp_max(len(exp_table) - 1)]
    t = t if seen is None else torch.where(seen, t, 0)
    total = t.sum(-1, keepdim=True).clamp_min(int(exp_table[0]))
    y = divided(d, t, total, round(1 / float(y_scale)))
    return (y if seen is None else torch.where(seen, y, 0)).to(x.dtype) * y_scale


# Tanh-l1 of codes: the algorithms of `mfsim/ops/softmax/tanh_l1.py` and `mfsim/ops/softmax/tanh_l1_shift.py` in int64.
#
# Parameters that both functions have:
#
#     x           values on x_scale, shape [..., N]
#     tanh_table  int64 [size], from 0 to 2**P (`mfsim.ops.softmax.tables.tanh_table`)
#     eps         int64 scalar, at least 1
#     y_scale     2**-F, the grid of the result
#     mask        0 and 1, broadcast against x: what each row sees; None for everything
#
# Each returns y_scale times the codes of the op, in the type of x, without a gradient.


def tanh_l1(
    x: torch.Tensor,
    x_scale: Scale,
    tanh_table: torch.Tensor,
    eps: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return tanh-l1 by a division for each entry.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    tanh_table : int64 tensor, shape (size,)
        Never falling, from 0; see `mfsim.ops.softmax.tables.tanh_table`.
    eps : int64 scalar tensor
        Added to the sum of the terms of a row, at least 1.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """
    return _tanh_l1("TanhL1", x, x_scale, tanh_table, eps, (), y_scale, mask, lambda total: total)


def tanh_l1_shift(
    x: torch.Tensor,
    x_scale: Scale,
    tanh_table: torch.Tensor,
    eps: torch.Tensor,
    thresholds: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return tanh-l1 with the divisor rounded to a power of two; `thresholds` is int64 and ascending.

    Parameters
    ----------
    x : float tensor, shape (..., N)
        Values on x_scale.
    x_scale : tensor or float
        A power of two.
    tanh_table : int64 tensor, shape (size,)
        Never falling, from 0; see `mfsim.ops.softmax.tables.tanh_table`.
    eps : int64 scalar tensor
        Added to the sum of the terms of a row, at least 1.
    thresholds : int64 tensor, one axis
        Ascending; how many a sum reaches is its exponent.
    y_scale : tensor or float
        2**-F, the grid of the result.
    mask : tensor, optional
        0 and 1, broadcast against x: what each row sees; everything if left out.

    Returns
    -------
    float tensor, shape of x
        Codes times y_scale, without a gradient; 0 at hidden entries.
    """

    def divisor(total: torch.Tensor) -> torch.Tensor:
        return power_of(reached(total, thresholds))

    return _tanh_l1("TanhL1Shift", x, x_scale, tanh_table, eps, (thresholds,), y_scale, mask, divisor)


def _tanh_l1(
    op: str,
    x: torch.Tensor,
    x_scale: Scale,
    tanh_table: torch.Tensor,
    eps: torch.Tensor,
    constants: Sequence[torch.Tensor],
    y_scale: Scale,
    mask: torch.Tensor | None,
    divisor: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return sign(x) t / divisor(L), rounded; one node of `op`, or of its masked form, while torch exports."""
    x_scale, y_scale = as_scale(x_scale, x), as_scale(y_scale, x)
    if exporting():
        inputs = (x, x_scale, tanh_table, eps, *constants, y_scale)
        return (
            emitted(op, inputs, {}, x.shape) if mask is None else emitted(f"Masked{op}", (*inputs, mask), {}, x.shape)
        )
    q = codes_of(x, x_scale)
    t = tanh_table[q.abs().clamp_max(len(tanh_table) - 1)]
    t = t if mask is None else torch.where(mask != 0, t, 0)
    total = eps + t.sum(-1, keepdim=True)
    magnitude = rounded_quotient(t * round(1 / float(y_scale)), divisor(total))
    return (magnitude * q.sign()).to(x.dtype) * y_scale
