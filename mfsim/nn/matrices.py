"""`MatMul`, `MFMatMul`, `Gram`, `TriangularLinear`: matrix products as layers of their own."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import functional
from mfsim.ops.dense.gram import OP as GRAM
from mfsim.ops.torch_node import emitted, exporting

# `MatMul` and `MFMatMul`: the matrix product of two activations as a layer of its own.
#
# Quantization replaces leaf modules at their paths, so a network that multiplies two activations with
# each other (attention scores, and the aggregation of values) does so in one of these.


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
        """Return the matrix product of two activations.

        Parameters
        ----------
        a : float tensor, shape [..., M, K]
        b : float tensor, shape [..., K, O], or [..., O, K] with `transpose_b`

        Returns
        -------
        float tensor, shape [..., M, O]

        Raises
        ------
        ShapeError
            If the operands do not suit each other.
        """
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
        """Return the MF product of two activations.

        Parameters
        ----------
        a : float tensor, shape [..., M, K]
        b : float tensor, shape [..., K, O], or [..., O, K] with `transpose_b`

        Returns
        -------
        float tensor, shape [..., M, O]

        Raises
        ------
        ShapeError
            If the operands do not suit each other.
        """
        right = _second(a, b, self.transpose_b)
        return functional.mf_matmul(a, right, form=self.form, sign_zero=self.sign_zero, grid=self.grid)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"form={self.form}, sign_zero={self.sign_zero}, grid={self.grid}, transpose_b={self.transpose_b}"


# `Gram`: products of the rows of one matrix with each other, as a layer of its own.


def gram(x: torch.Tensor) -> torch.Tensor:
    """Return the Gram matrix x x^T; on a device one triangle is computed and the other copied.

    Parameters
    ----------
    x : float tensor, shape [..., N, K]

    Returns
    -------
    float tensor, shape [..., N, N]
    """
    return (
        emitted(GRAM.onnx.op_type, (x,), {}, (*x.shape[:-1], x.shape[-2])) if exporting() else x @ x.transpose(-1, -2)
    )


class Gram(nn.Module):
    """Scores of queries and keys that are projected by one matrix: a a^T, or a b^T for keys b of other tokens.

    Where both arguments are one tensor, N (N + 1) / 2 sums are computed instead of N**2. Both lie on one
    scale when quantized.
    """

    def forward(self, a: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:
        """Return the products of all rows of a with all rows of b.

        Parameters
        ----------
        a : float tensor, shape [..., N, K]
        b : float tensor, shape [..., M, K], or None
            Rows of other tokens; None for a itself.

        Returns
        -------
        float tensor, shape [..., N, M]

        Raises
        ------
        ShapeError
            If the operands do not end in rows of one length K.
        """
        b = a if b is None else b
        if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
            raise ShapeError(f"a {tuple(a.shape)} and b {tuple(b.shape)} must end in [rows, K] of one K")
        return gram(a) if b is a else a @ b.transpose(-1, -2)


# `TriangularLinear`: a linear layer whose matrix is lower triangular, and stored so.


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
        """Return x T.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        if x.ndim < 1 or x.shape[-1] != self.width:
            raise ShapeError(f"a triangular layer of width {self.width} does not suit x {tuple(x.shape)}")
        return x @ self.matrix()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.width}"
