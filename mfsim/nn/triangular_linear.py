"""`TriangularLinear`: a linear layer whose matrix is lower triangular, and stored so."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError


class TriangularLinear(nn.Module):
    """x T along the last axis, T lower triangular, without bias.

    T T^T is any symmetric positive semidefinite similarity (its Cholesky factors), with half the
    parameters of a full T. Source of the use: arXiv 2410.13732, section on symmetric similarity.

    Parameters
    ----------
    width : int
        At least 1.

    Attributes
    ----------
    weight : parameter, shape [width (width + 1) / 2]
        Rows of T one after another.
    """

    rows: torch.Tensor
    columns: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 1:
            raise ShapeError(f"`width` of a triangular layer must be at least 1, not {width}")
        self.width = width
        bound = width**-0.5  # as in nn.Linear
        self.weight = nn.Parameter(torch.empty(width * (width + 1) // 2).uniform_(-bound, bound))
        places = torch.tril_indices(width, width)
        self.register_buffer("rows", places[0], persistent=False)
        self.register_buffer("columns", places[1], persistent=False)

    def matrix(self) -> torch.Tensor:
        """Return T, shape [width, width]; the weight [out, in] of an equal `nn.Linear` is its transpose."""
        zeros = self.weight.new_zeros(self.width, self.width)
        return zeros.index_put((self.rows, self.columns), self.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x T."""
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise ShapeError(f"a triangular layer of width {self.width} does not suit x {tuple(x.shape)}")
        return x @ self.matrix()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}"
