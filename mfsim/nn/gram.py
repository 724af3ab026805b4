"""`Gram`: products of the rows of one matrix with each other, as a layer of its own."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn.functional import emitted, exporting


def gram(x: torch.Tensor) -> torch.Tensor:
    """Return x x^T [..., N, N] of x [..., N, K]; on a device one triangle is computed and the other copied."""
    return emitted("Gram", (x,), {}, (*x.shape[:-1], x.shape[-2])) if exporting() else x @ x.transpose(-1, -2)


class Gram(nn.Module):
    """Scores of queries and keys that are projected by one matrix: a a^T, or a b^T for keys b of other tokens.

    Where both arguments are one tensor, N (N + 1) / 2 sums are computed instead of N**2. Both lie on one
    scale when quantized.
    """

    def forward(self, a: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        """Return the products [..., N, M] of rows a [..., N, K] with rows b [..., M, K], which are a where not given."""
        b = a if b is None else b
        if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
            raise ShapeError(f"a {tuple(a.shape)} and b {tuple(b.shape)} must end in [rows, K] of one K")
        return gram(a) if b is a else a @ b.transpose(-1, -2)
