"""`QuantDFTMagnitude`: Fourier magnitudes of codes by a fixed-point transform."""

from __future__ import annotations

import torch

from mfsim.derived import dft as constants
from mfsim.nn.dft_magnitude import DFTMagnitude, estimates, magnitudes
from mfsim.nn.integer.dft import dft_alpha_beta, dft_magnitude
from mfsim.quant.nonlinear.base import QuantNonlinear


class QuantDFTMagnitude(QuantNonlinear):
    """`DFTMagnitude` on codes; its length is a power of two of at least 4.

    Attributes
    ----------
    places, weights, bins, factors : int64 buffers, derived; see `mfsim.nn.integer.dft`
    """

    places: torch.Tensor
    weights: torch.Tensor
    bins: torch.Tensor
    factors: torch.Tensor

    def __init__(self, layer: DFTMagnitude, bits: int, signed: bool) -> None:
        constants.check_length(layer.length)
        super().__init__(layer, bits, signed)
        self.length, self.form = layer.length, layer.form

    def make_constants(self) -> None:
        """Set stages, bins and factors, with as many guard and cosine bits as keep the error below 3/4 LSB."""
        n, word = self.length, self.input_quant
        grid = (-self.y_exponent, self.x_exponent)
        root = self.form == "root"
        error = constants.result_error if root else constants.estimate_error
        guard, bits = constants.defaults(n, 1 << word.bits - int(word.signed), *grid, error)
        places, weights = constants.stages(n, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("bins", constants.bins(n))
        factors = constants.factors if root else constants.estimate_factors
        self.set_constant("factors", factors(n, guard, *grid, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float magnitudes of x, or their estimates."""
        return magnitudes(x) if self.form == "root" else estimates(x)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the magnitudes times `y_scale`."""
        stages = (self.places, self.weights, self.bins, self.factors)
        if self.form == "root":
            return dft_magnitude(x, self.input_quant.scale, *stages, self.y_scale)
        products = "shift" if self.form == "csd" else "mul"
        return dft_alpha_beta(x, self.input_quant.scale, *stages, self.y_scale, products)

    def extra_repr(self) -> str:
        """Return the length for `print(model)`."""
        return f"{self.length}, form={self.form}"
