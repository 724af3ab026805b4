"""`MatMul` and `MFMatMul`: the matrix product of two activations as a layer of its own.

Quantization replaces leaf modules at their paths, so a network that multiplies two activations with
each other (attention scores, and the aggregation of values) does so in one of these.
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional


def _second(a: torch.Tensor, b: torch.Tensor, transpose_b: bool) -> torch.Tensor:
    """Return b as the second factor of a @ b; a `ShapeError` says where the two do not suit each other."""
    right = b.transpose(-1, -2) if transpose_b and b.ndim > 1 else b
    if a.ndim < 2 or right.ndim < 2 or a.shape[-1] != right.shape[-2]:
        last = "[O, K]" if transpose_b else "[K, O]"
        raise ShapeError(f"a {tuple(a.shape)} must end in [M, K], and b must end in {last}, not {tuple(b.shape)}")
    return right


class MatMul(nn.Module):
    """a @ b of two activations, a of shape [..., M, K] and b of shape [..., K, O].

    Parameters
    ----------
    transpose_b : bool
        b is [..., O, K], and a @ b^T is returned.
    """

    def __init__(self, transpose_b: bool = False) -> None:
        super().__init__()
        self.transpose_b = bool(transpose_b)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the product, shape [..., M, O]; a `ShapeError` says where the operands do not suit."""
        return a @ _second(a, b, self.transpose_b)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"transpose_b={self.transpose_b}"


class MFMatMul(nn.Module):
    """The matrix product of two activations with the MF operator as multiplication.

    Parameters
    ----------
    form, sign_zero, grid
        As in `mfsim.nn.functional.mf_mul`.
    transpose_b : bool
        b is [..., O, K] instead of [..., K, O].

    Raises
    ------
    FormatError
        If an option is unknown.
    """

    def __init__(self, form: str = "ef", sign_zero: int = 0, grid: str = "split", transpose_b: bool = False) -> None:
        super().__init__()
        functional.mf_attributes(form, sign_zero, grid)
        self.form, self.sign_zero, self.grid = form, sign_zero, grid
        self.transpose_b = bool(transpose_b)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the product, shape [..., M, O]; a `ShapeError` says where the operands do not suit."""
        right = _second(a, b, self.transpose_b)
        return functional.mf_matmul(a, right, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}, transpose_b={self.transpose_b}"
