"""`QuantRope`: rotary positions on codes, by fixed cosines and sines.

y = x cos + swapped(x) sin,   swapped(x) = (second half, first half),   the sines of the first half negated
"""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn.rope import Rope
from mfsim.quant.quantizers import ActivationQuant


class QuantRope(nn.Module):
    """`Rope` on codes.

    Parameters
    ----------
    layer : Rope
    bits, signed : word of the input.
    weight : int
        Bits of cosines and sines, signed; 1 is one of their codes.

    Attributes
    ----------
    cosines, sines : buffers, shape [tokens, length]
    """

    cosines: torch.Tensor
    sines: torch.Tensor

    def __init__(self, layer: Rope, bits: int, signed: bool, weight: int) -> None:
        super().__init__()
        self.length, self.tokens = layer.length, layer.tokens
        self.register_buffer("cosines", torch.cat((layer.cosines, layer.cosines), -1), persistent=False)
        self.register_buffer("sines", torch.cat((-layer.sines, layer.sines), -1), persistent=False)
        self.input_quant = ActivationQuant(bits, signed)
        self.cosine_quant = ActivationQuant(weight, True, 2.0 ** (2 - weight))
        self.sine_quant = ActivationQuant(weight, True, 2.0 ** (2 - weight))

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Return x [..., T, length] rotated; its rows are the positions from `start` on."""
        rows = slice(start, start + x.shape[-2])
        if x.shape[-1] != self.length or rows.stop > self.tokens:
            raise ShapeError(
                f"rotary positions of {self.tokens} tokens of width {self.length} do not suit x {tuple(x.shape)} "
                f"from position {start} on"
            )
        x = self.input_quant(x)
        first, second = x[..., : self.length // 2], x[..., self.length // 2 :]
        cosines, sines = self.cosine_quant(self.cosines[rows]), self.sine_quant(self.sines[rows])
        return x * cosines + torch.cat((second, first), -1) * sines

    def extra_repr(self) -> str:
        """Return the sizes for `print(model)`."""
        return f"{self.length}, tokens={self.tokens}"
