"""Tanh-l1 of codes: the algorithms of `mfsim/ops/tanh_l1.py` and `mfsim/ops/tanh_l1_shift.py` in int64.

Parameters that both functions have:

    x           values on x_scale, shape [..., N]
    tanh_table  int64 [size], from 0 to 2**P (`mfsim.derived.tanh_l1.tanh_table`)
    eps         int64 scalar, at least 1
    y_scale     2**-F, the grid of the result
    mask        0 and 1, broadcast against x: what each row sees; None for everything

Each returns y_scale times the codes of the op, in the type of x, without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from mfsim.nn.functional import emitted, exporting
from mfsim.nn.integer.codes import Scale, as_scale, codes_of, power_of, reached, rounded_quotient


def tanh_l1(
    x: torch.Tensor,
    x_scale: Scale,
    tanh_table: torch.Tensor,
    eps: torch.Tensor,
    y_scale: Scale,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return tanh-l1 by a division for each entry."""
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
    """Return tanh-l1 with the divisor rounded to a power of two; `thresholds` is int64 and ascending."""

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
