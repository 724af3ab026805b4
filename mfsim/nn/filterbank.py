"""`Filterbank`: a bank of directional filters over the grid of patches, fused for each head.

The filters are fixed, in the frequency domain of the g x g grid: radial windows times directional
windows in two cones (after cone-adapted shearlets), and one low-pass. A head's filter is their
convex combination with learned weights. "Learned Queries and Keys Are All You Need", section 2.4,
gives windows, cones, 3 scales, 5 shears and the softmax fusion; where it says nothing, this module
takes: frequencies 2 fftfreq(g) in [-1, 1), the horizontal one along columns; scales 1/4, 1/2, 1 with
a width of 0.2; shears -1, -1/2, 0, 1/2, 1 (slopes in a cone are within +-1) with a width of 0.25; the
low-pass is the radial window at scale 0; no normalisation; uniform fusion at first.

The real part of the inverse transform is taken. So each head's filtering is linear and real: a
block-circulant matrix over the patches, equal for all features. That matrix is what `forward` uses.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.ops.fourier.filterbank_tables import check_grid

SCALES = (0.25, 0.5, 1.0)
SHEARS = (-1.0, -0.5, 0.0, 0.5, 1.0)
RADIAL_WIDTH, SHEAR_WIDTH = 0.2, 0.25
GUARD = 1e-6
"""Keeps the slopes finite where a frequency is 0."""
COUNT = 2 * len(SCALES) * len(SHEARS) + 1
"""Number of filters."""
FORMS = ("product", "fft", "csd")


@functools.lru_cache
def filters(grid: int) -> np.ndarray:
    """Return the filters, float64 [31, grid, grid], over (vertical, horizontal) frequencies in FFT order.

    Filter 0 is the low-pass; then for each scale the horizontal cone's five shears and the vertical's.

    Parameters
    ----------
    grid : int, at least 1
        Patches of a side.

    Returns
    -------
    float64 array, shape [31, grid, grid]
        Filters over (vertical, horizontal) frequencies, in 0..1; made once, not to be changed.
    """
    frequencies = 2 * np.fft.fftfreq(grid)
    vertical, horizontal = frequencies[:, None], frequencies[None, :]
    radius = np.hypot(horizontal, vertical)

    def window(distance: np.ndarray, width: float) -> np.ndarray:
        return np.asarray(np.exp(-(distance**2) / (2 * width**2)))

    cones = (
        (vertical / (horizontal + GUARD), np.abs(horizontal) >= np.abs(vertical)),
        (horizontal / (vertical + GUARD), np.abs(vertical) >= np.abs(horizontal)),
    )
    bank = [window(radius, RADIAL_WIDTH)]
    for scale in SCALES:
        for slope, cone in cones:
            bank += [window(radius - scale, RADIAL_WIDTH) * window(slope - k, SHEAR_WIDTH) * cone for k in SHEARS]
    return np.stack(bank)


@functools.lru_cache
def _circulants(grid: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (impulse response of each filter [31, grid**2], place in it for each pair of patches [P, P])."""
    responses = np.fft.ifft2(filters(grid)).real.reshape(COUNT, -1)
    row, column = np.divmod(np.arange(grid * grid), grid)
    places = (row[:, None] - row) % grid * grid + (column[:, None] - column) % grid
    return responses, places


class Filterbank(nn.Module):
    """Filter the patches of x [N, heads, tokens, features] over their grid, each head with its own fusion.

    Parameters
    ----------
    heads : int
        At least 1.
    grid : int
        Patches of a side of the square grid, at least 1.
    passing : int
        Number of tokens in front of the patches that pass through unchanged: 1 for a class token.
    normalise : bool
        Whether a head's filter is divided by its largest gain.
    form : {"product", "fft", "csd"}
        What it is when quantized: a product with the matrix; fixed-point Fourier transforms with fixed multiplications,
        and a multiplication by each gain between them; or the same whose products are shifts and additions of signed
        digits. The float function is one. Other forms than product need a side that is a power of two of at least 4.

    Attributes
    ----------
    fusion : parameter, shape [heads, 31]
        Its softmax over the filters is the weight of each; 0 at first.
    """

    def __init__(self, heads: int, grid: int, passing: int = 1, normalise: bool = False, form: str = "product") -> None:
        super().__init__()
        if heads < 1 or grid < 1 or passing < 0:
            raise ShapeError(
                f"`heads` and `grid` of a filterbank must be at least 1 and `passing` at least 0, "
                f"not {heads}, {grid} and {passing}"
            )
        if form not in FORMS:
            raise FormatError(
                f"`form` of a filterbank must be one of {', '.join(FORMS)}, not {form!r}{did_you_mean(form, FORMS)}"
            )
        if form != "product":
            check_grid(grid)
        self.heads, self.grid, self.passing, self.normalise, self.form = heads, grid, passing, normalise, form
        self.fusion = nn.Parameter(torch.zeros(heads, COUNT))

    def gains(self) -> torch.Tensor:
        """Return each head's fused filter over the frequencies, shape [heads, grid, grid]."""
        weights = torch.softmax(self.fusion, -1)
        fused: torch.Tensor = weights @ weights.new_tensor(filters(self.grid).reshape(COUNT, -1))
        return fused.reshape(self.heads, self.grid, self.grid)

    def even_gains(self) -> torch.Tensor:
        """Return what the spectrum is multiplied by, shape [heads, grid, grid]: equal at a frequency and its negative.

        It is the even part of `gains`, as the real part of the result is taken, divided by the largest if `normalise`.
        """
        gains = self.gains()
        even = (gains + gains.flip(1, 2).roll((1, 1), (1, 2))) / 2
        return even / gains.flatten(1).amax(1)[:, None, None] if self.normalise else even

    def matrix(self) -> torch.Tensor:
        """Return what `forward` multiplies tokens with, shape [heads, tokens, tokens]: C_h, and 1 for passing ones."""
        responses, places = _circulants(self.grid)
        weights = torch.softmax(self.fusion, -1)
        if self.normalise:
            weights = weights / self.gains().flatten(1).amax(1, keepdim=True)
        kernels = weights @ weights.new_tensor(responses)
        circulant = kernels[:, torch.as_tensor(places, device=kernels.device)]
        passing = torch.eye(self.passing, dtype=kernels.dtype, device=kernels.device)
        wide = nn.functional.pad(circulant, (self.passing, 0, self.passing, 0))
        return wide + nn.functional.pad(passing, (0, self.grid**2, 0, self.grid**2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the filtered tokens, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [..., heads, passing + grid**2, features]
            Rows of tokens, the passing ones first.

        Returns
        -------
        float tensor, of the shape of x

        Raises
        ------
        ShapeError
            If x has other heads or tokens.
        """
        if x.ndim < 3 or x.shape[-3:-1] != (self.heads, self.passing + self.grid**2):
            raise ShapeError(
                f"a filterbank of {self.heads} heads over {self.grid} x {self.grid} patches and {self.passing} passing "
                f"tokens does not suit x {tuple(x.shape)}"
            )
        return self.matrix() @ x

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        form = f", form={self.form}" if self.form != "product" else ""
        return f"{self.heads}, grid={self.grid}, passing={self.passing}, normalise={self.normalise}{form}"
