"""`DCT`: the orthonormal discrete cosine transform as a layer."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import nn

from mfsim.derived.dct import check_length
from mfsim.errors import FormatError, ShapeError, did_you_mean

FORMS = ("dense", "fast", "csd")


@functools.lru_cache
def dct_matrix(n: int) -> np.ndarray:
    """Return the orthonormal DCT-II of length n as a float64 matrix D [n, n]: D x is the transform of x.

    D[k, i] = c_k cos(pi (2 i + 1) k / (2 n)), c_0 = sqrt(1 / n), else c_k = sqrt(2 / n).
    Source: Ahmed, Natarajan and Rao, "Discrete Cosine Transform", IEEE Trans. Computers C-23, 1974.
    """
    k, i = np.mgrid[:n, :n]
    matrix: np.ndarray = np.sqrt(2 / n) * np.cos(np.pi * (2 * i + 1) * k / (2 * n))
    matrix[0] = np.sqrt(1 / n)
    matrix.setflags(write=False)
    return matrix


class DCT(nn.Module):
    """Orthonormal DCT-II of the last axis.

    Parameters
    ----------
    length : int
        Of the last axis, at least 1; a power of two of at least 2 for the forms other than dense.
    form : {"dense", "fast", "csd"}
        What it is when quantized: a matrix product, Lee's fast algorithm with fixed multiplications, or the same
        algorithm whose products are shifts and additions of signed digits. The float function is one.
    """

    def __init__(self, length: int, form: str = "dense") -> None:
        super().__init__()
        if length < 1:
            raise ShapeError(f"`length` of a cosine transform must be at least 1, not {length}")
        if form not in FORMS:
            raise FormatError(
                f"`form` of a cosine transform must be one of {', '.join(FORMS)}, not {form!r}{did_you_mean(form, FORMS)}"
            )
        if form != "dense":
            check_length(length)
        self.length, self.form = length, form

    def matrix(self) -> np.ndarray:
        """Return D as float64 [length, length]."""
        return dct_matrix(self.length)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return D x along the last axis."""
        if x.ndim < 1 or x.shape[-1] != self.length:
            raise ShapeError(f"a cosine transform of length {self.length} does not suit x {tuple(x.shape)}")
        return x @ x.new_tensor(self.matrix().T)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.length}" + (f", form={self.form}" if self.form != "dense" else "")
