"""`QuantWHT`: the Walsh-Hadamard transform of codes."""

from __future__ import annotations

import torch

from mfsim.nn import WHT
from mfsim.quant.quantizers import ActivationQuant


class QuantWHT(WHT):
    """`WHT` of codes: an input quantizer, then the exact transform."""

    def __init__(self, transform: WHT, bits: int, signed: bool) -> None:
        super().__init__(
            block=transform.block,
            dims=transform.dims,
            order=transform.order,
            norm=transform.norm,
            inverse=transform.inverse,
            size=transform.size,
        )
        self.input_quant = ActivationQuant(bits, signed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the transform of the quantized x.

        Parameters
        ----------
        x : float tensor
            With the shape that `WHT` takes.

        Returns
        -------
        float tensor
            What `WHT` gives, exact for codes times the scale.
        """
        return super().forward(self.input_quant(x))
