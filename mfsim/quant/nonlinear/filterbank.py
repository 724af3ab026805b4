"""`QuantFilterbankFFT`: a filterbank of codes by fixed-point Fourier transforms."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from mfsim.derived import filterbank as constants
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.integer.filterbank import filterbank
from mfsim.quant.nonlinear.base import QuantNonlinear
from mfsim.quant.quantizers import QuantWeightMixin, WeightWord, plain, stored_scale
from mfsim.quant.scales import weight_exponents


class QuantFilterbankFFT(QuantWeightMixin, QuantNonlinear):
    """`Filterbank` of the form fft or csd on codes; its gains are weights on one scale, not trained.

    Attributes
    ----------
    weight : parameter, shape [heads, g, g]
        The even gains of each head.
    places, weights, factors : int64 buffers, derived; see `mfsim.nn.integer.filterbank`
    """

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
        guard, bits = constants.defaults(self.grid, largest, most, self.weight_bits, *exponents)
        places, weights = constants.stages(self.grid, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("factors", constants.factors(self.grid, guard, *exponents, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float filter of x with the gains as they are quantized."""
        passed, patches = x[:, :, : self.passing], x[:, :, self.passing :]
        images = patches.reshape(*x.shape[:2], self.grid, self.grid, x.shape[3])
        spectrum = torch.fft.fft2(images, dim=(2, 3)) * self.gains()[..., None]
        filtered = torch.fft.ifft2(spectrum, dim=(2, 3)).real.flatten(2, 3)
        return torch.cat((passed, filtered), 2)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the filtered tokens times `y_scale`."""
        gains, stages = (self.gains(), stored_scale(self.weight_quant)), (self.places, self.weights, self.factors)
        return filterbank(x, self.input_quant.scale, *gains, *stages, self.y_scale, self.passing, self.products)

    def extra_repr(self) -> str:
        """Return the sizes and how products are computed for `print(model)`."""
        return f"{self.out_channels}, grid={self.grid}, passing={self.passing}, products={self.products}"
