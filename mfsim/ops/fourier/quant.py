"""Quantized Fourier and cosine transforms and filterbanks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import nn

from mfsim.nn.filterbank import Filterbank
from mfsim.nn.fourier import DCT, DFTMagnitude, dct_matrix, estimates, magnitudes
from mfsim.ops.fourier import dct_tables, dft_tables, filterbank_tables
from mfsim.ops.fourier.dct import OP as DCT_OP
from mfsim.ops.fourier.dft_alpha_beta import OP as DFT_ALPHA_BETA
from mfsim.ops.fourier.dft_magnitude import OP as DFT_MAGNITUDE
from mfsim.ops.fourier.filterbank import OP as FILTERBANK
from mfsim.ops.fourier.torch import dct, dft_alpha_beta, dft_magnitude, filterbank
from mfsim.quant.nonlinear_base import QuantNonlinear
from mfsim.quant.quantizers import QuantWeightMixin, WeightWord, plain, stored_scale
from mfsim.quant.scales import weight_exponents

# `QuantFastDCT`: the cosine transform of codes by a fast algorithm in fixed point.


class QuantFastDCT(QuantNonlinear):
    """`DCT` of the form fast or csd on codes.

    Attributes
    ----------
    places, weights, factors : int64 buffers, derived; see `mfsim.ops.fourier.torch`
    """

    arguments: ClassVar[tuple[str, ...]] = ("length", "form")
    exported_as: ClassVar[tuple[str, ...]] = DCT_OP.onnx.op_types

    places: torch.Tensor
    weights: torch.Tensor
    factors: torch.Tensor

    def __init__(self, layer: DCT, bits: int, signed: bool) -> None:
        super().__init__(layer, bits, signed)
        self.length, self.products = layer.length, "shift" if layer.form == "csd" else "mul"

    def make_constants(self) -> None:
        """Set stages and factors, with as many guard and multiplier bits as keep the error below 3/4 LSB."""
        n, word = self.length, self.input_quant
        grid = (-self.y_exponent, self.x_exponent)
        guard, bits = dct_tables.defaults(n, 1 << word.bits - int(word.signed), *grid)
        places, weights = dct_tables.stages(n, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("factors", dct_tables.factors(n, guard, *grid, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float transform of x.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return x @ x.new_tensor(dct_matrix(self.length).T)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the transform times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        stages = (self.places, self.weights, self.factors)
        return dct(x, self.input_quant.scale, *stages, self.y_scale, self.products)

    def extra_repr(self) -> str:
        """Return the length and how products are computed for `print(model)`."""
        return f"{self.length}, products={self.products}"


# `QuantDFTMagnitude`: Fourier magnitudes of codes by a fixed-point transform.


class QuantDFTMagnitude(QuantNonlinear):
    """`DFTMagnitude` on codes; its length is a power of two of at least 4.

    Attributes
    ----------
    places, weights, bins, factors : int64 buffers, derived; see `mfsim.ops.fourier.torch`
    """

    arguments: ClassVar[tuple[str, ...]] = ("length", "form")
    exported_as: ClassVar[tuple[str, ...]] = (*DFT_ALPHA_BETA.onnx.op_types, *DFT_MAGNITUDE.onnx.op_types)

    places: torch.Tensor
    weights: torch.Tensor
    bins: torch.Tensor
    factors: torch.Tensor

    def __init__(self, layer: DFTMagnitude, bits: int, signed: bool) -> None:
        dft_tables.check_length(layer.length)
        super().__init__(layer, bits, signed)
        self.length, self.form = layer.length, layer.form

    def make_constants(self) -> None:
        """Set stages, bins and factors, with as many guard and cosine bits as keep the error below 3/4 LSB."""
        n, word = self.length, self.input_quant
        grid = (-self.y_exponent, self.x_exponent)
        root = self.form == "root"
        error = dft_tables.result_error if root else dft_tables.estimate_error
        guard, bits = dft_tables.defaults(n, 1 << word.bits - int(word.signed), *grid, error)
        places, weights = dft_tables.stages(n, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("bins", dft_tables.bins(n))
        factors = dft_tables.factors if root else dft_tables.estimate_factors
        self.set_constant("factors", factors(n, guard, *grid, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float magnitudes of x, or their estimates.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        return magnitudes(x) if self.form == "root" else estimates(x)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the magnitudes times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (..., length)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        stages = (self.places, self.weights, self.bins, self.factors)
        if self.form == "root":
            return dft_magnitude(x, self.input_quant.scale, *stages, self.y_scale)
        products = "shift" if self.form == "csd" else "mul"
        return dft_alpha_beta(x, self.input_quant.scale, *stages, self.y_scale, products)

    def extra_repr(self) -> str:
        """Return the length for `print(model)`."""
        return f"{self.length}, form={self.form}"


# `QuantFilterbankFFT`: a filterbank of codes by fixed-point Fourier transforms.


class QuantFilterbankFFT(QuantWeightMixin, QuantNonlinear):
    """`Filterbank` of the form fft or csd on codes; its gains are weights on one scale, not trained.

    Attributes
    ----------
    weight : parameter, shape [heads, g, g]
        The even gains of each head.
    places, weights, factors : int64 buffers, derived; see `mfsim.ops.fourier.torch`
    """

    arguments: ClassVar[tuple[str, ...]] = ("heads", "grid", "passing", "normalise", "form")
    exported_as: ClassVar[tuple[str, ...]] = FILTERBANK.onnx.op_types

    weight_quant: nn.Module
    places: torch.Tensor
    weights: torch.Tensor
    factors: torch.Tensor

    def __init__(self, layer: Filterbank, bits: int, signed: bool, weight: int) -> None:
        QuantNonlinear.__init__(self, layer, bits, signed)
        self.grid, self.passing, self.weight_bits = layer.grid, layer.passing, weight
        self.products = "shift" if layer.form == "csd" else "mul"
        self.weight = nn.Parameter(layer.even_gains().detach().clone(), requires_grad=False)
        exponent = weight_exponents(self.weight.numpy(), weight, False, "max")
        scale = torch.tensor(np.ldexp(1.0, exponent), dtype=torch.float32)
        QuantWeightMixin.__init__(self, WeightWord.let(bit_width=weight, scale=scale))

    @property
    def output_channel_dim(self) -> int:
        """Axis of the gains that holds the heads."""
        return 0

    @property
    def out_channels(self) -> int:
        """Number of heads."""
        return len(self.weight)

    def gains(self) -> torch.Tensor:
        """Return the gains as they are quantized."""
        return plain(self.weight_quant(self.weight))

    def make_constants(self) -> None:
        """Set stages and factors, with as many guard and cosine bits as keep the error of these gains below 3/4 LSB."""
        word, exponents = self.input_quant, (-self.y_exponent, self.x_exponent)
        most = float(self.gains().abs().max())
        largest = 1 << word.bits - int(word.signed)
        guard, bits = filterbank_tables.defaults(self.grid, largest, most, self.weight_bits, *exponents)
        places, weights = filterbank_tables.stages(self.grid, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("factors", filterbank_tables.factors(self.grid, guard, *exponents, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float filter of x with the gains as they are quantized.

        Parameters
        ----------
        x : float tensor, shape (N, heads, passing + grid**2, features)
            Quantized values.

        Returns
        -------
        float tensor, same shape
            Differentiable.
        """
        passed, patches = x[:, :, : self.passing], x[:, :, self.passing :]
        images = patches.reshape(*x.shape[:2], self.grid, self.grid, x.shape[3])
        spectrum = torch.fft.fft2(images, dim=(2, 3)) * self.gains()[..., None]
        filtered = torch.fft.ifft2(spectrum, dim=(2, 3)).real.flatten(2, 3)
        return torch.cat((passed, filtered), 2)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the filtered tokens times `y_scale`.

        Parameters
        ----------
        x : float tensor, shape (N, heads, passing + grid**2, features)
            Values on the grid of the input quantizer.

        Returns
        -------
        float tensor, same shape
            Without a gradient.
        """
        gains, stages = (self.gains(), stored_scale(self.weight_quant)), (self.places, self.weights, self.factors)
        return filterbank(x, self.input_quant.scale, *gains, *stages, self.y_scale, self.passing, self.products)

    def extra_repr(self) -> str:
        """Return the sizes and how products are computed for `print(model)`."""
        return f"{self.out_channels}, grid={self.grid}, passing={self.passing}, products={self.products}"


LAYERS: dict[type[nn.Module], type[QuantNonlinear]] = {
    DCT: QuantFastDCT,
    DFTMagnitude: QuantDFTMagnitude,
    Filterbank: QuantFilterbankFFT,
}
"""The quantized layer for each float one."""
