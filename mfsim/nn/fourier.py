"""`DCT` and `DFTMagnitude`: cosine and Fourier transforms as layers."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.ops.fourier.dct_tables import check_length as dct_check_length
from mfsim.ops.fourier.dft_tables import check_length as dft_check_length

# `DCT`: the orthonormal discrete cosine transform as a layer.

DCT_FORMS = ("dense", "fast", "csd")


@functools.lru_cache
def dct_matrix(n: int) -> np.ndarray:
    """Return the orthonormal DCT-II of length n as a float64 matrix D [n, n]: D x is the transform of x.

    D[k, i] = c_k cos(pi (2 i + 1) k / (2 n)), c_0 = sqrt(1 / n), else c_k = sqrt(2 / n).
    Source: Ahmed, Natarajan and Rao, "Discrete Cosine Transform", IEEE Trans. Computers C-23, 1974.

    Parameters
    ----------
    n : int, at least 1
        Length of the transform.

    Returns
    -------
    float64 array, shape [n, n]
        Read-only, made once for each length.
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
        if form not in DCT_FORMS:
            raise FormatError(
                f"`form` of a cosine transform must be one of {', '.join(DCT_FORMS)}, not {form!r}{did_you_mean(form, DCT_FORMS)}"
            )
        if form != "dense":
            dct_check_length(length)
        self.length, self.form = length, form

    def matrix(self) -> np.ndarray:
        """Return D as float64 [length, length]."""
        return dct_matrix(self.length)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return D x along the last axis.

        Parameters
        ----------
        x : float tensor, shape [..., length]

        Returns
        -------
        float tensor, shape [..., length]

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        if x.ndim < 1 or x.shape[-1] != self.length:
            raise ShapeError(f"a cosine transform of length {self.length} does not suit x {tuple(x.shape)}")
        return x @ x.new_tensor(self.matrix().T)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.length}" + (f", form={self.form}" if self.form != "dense" else "")


# `DFTMagnitude`: the absolute value of the discrete Fourier transform, or an estimate of it, as a layer.

DFT_FORMS = ("root", "alpha-beta", "csd")


def magnitudes(x: torch.Tensor) -> torch.Tensor:
    """Return abs(F x) / sqrt(n) of the last axis of length n; the gradient at a bin of 0 is 0.

    Parameters
    ----------
    x : float tensor, shape [..., n]

    Returns
    -------
    float tensor, shape [..., n]
        At least 0.
    """
    bins: torch.Tensor = torch.fft.fft(x, norm="ortho")
    return bins.abs()


def estimates(x: torch.Tensor) -> torch.Tensor:
    """Return max(M + m/8, 7/8 M + m/2) / sqrt(n) of the bins of x, M and m the greater and the smaller part in magnitude.

    That is 0.972 to 1.008 times the magnitude.

    Parameters
    ----------
    x : float tensor, shape [..., n]

    Returns
    -------
    float tensor, shape [..., n]
        At least 0.
    """
    bins = torch.view_as_real(torch.fft.fft(x, norm="ortho")).abs()
    greater, smaller = bins.amax(-1), bins.amin(-1)
    return torch.maximum(greater + smaller / 8, greater * 0.875 + smaller / 2)


class DFTMagnitude(nn.Module):
    """abs(F x) / sqrt(length) of the last axis, all bins: those above length / 2 mirror the others.

    Not linear: no layer behind it takes the transform in. Its gradient at a bin of 0 is 0.

    Parameters
    ----------
    length : int
        Of the last axis, at least 1; a power of two of at least 4 for the forms other than root.
    form : {"root", "alpha-beta", "csd"}
        root: the magnitude; quantized, a transform with fixed multiplications, squares and a root. alpha-beta: the
        estimate max(M + m/8, 7/8 M + m/2) of it, in float too (another function: train with it); quantized, shifts and
        additions in place of squares and root. csd: the same, and the transform's products are shifts and additions of
        signed digits, so that nothing is multiplied.
    """

    def __init__(self, length: int, form: str = "root") -> None:
        super().__init__()
        if length < 1:
            raise ShapeError(f"`length` of a Fourier transform must be at least 1, not {length}")
        if form not in DFT_FORMS:
            raise FormatError(
                f"`form` of Fourier magnitudes must be one of {', '.join(DFT_FORMS)}, not {form!r}{did_you_mean(form, DFT_FORMS)}"
            )
        if form != "root":
            dft_check_length(length)
        self.length, self.form = length, form

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the magnitudes, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [..., length]

        Returns
        -------
        float tensor, shape [..., length]
            At least 0; bin k equals bin `length` - k.

        Raises
        ------
        ShapeError
            If the last axis of x is missing or has another length.
        """
        if x.ndim < 1 or x.shape[-1] != self.length:
            raise ShapeError(f"a Fourier transform of length {self.length} does not suit x {tuple(x.shape)}")
        return magnitudes(x) if self.form == "root" else estimates(x)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.length}" + (f", form={self.form}" if self.form != "root" else "")
