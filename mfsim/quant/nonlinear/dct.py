"""`QuantFastDCT`: the cosine transform of codes by a fast algorithm in fixed point."""

from __future__ import annotations

import torch

from mfsim.derived import dct as constants
from mfsim.nn.dct import DCT, dct_matrix
from mfsim.nn.integer.dct import dct
from mfsim.quant.nonlinear.base import QuantNonlinear


class QuantFastDCT(QuantNonlinear):
    """`DCT` of the form fast or csd on codes.

    Attributes
    ----------
    places, weights, factors : int64 buffers, derived; see `mfsim.nn.integer.dct`
    """

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
        guard, bits = constants.defaults(n, 1 << word.bits - int(word.signed), *grid)
        places, weights = constants.stages(n, bits)
        self.set_constant("places", places)
        self.set_constant("weights", weights)
        self.set_constant("factors", constants.factors(n, guard, *grid, bits))

    def function(self, x: torch.Tensor) -> torch.Tensor:
        """Return the float transform of x."""
        return x @ x.new_tensor(dct_matrix(self.length).T)

    def integers(self, x: torch.Tensor) -> torch.Tensor:
        """Return the codes of the transform times `y_scale`."""
        stages = (self.places, self.weights, self.factors)
        return dct(x, self.input_quant.scale, *stages, self.y_scale, self.products)

    def extra_repr(self) -> str:
        """Return the length and how products are computed for `print(model)`."""
        return f"{self.length}, products={self.products}"
