"""`QuantTokenEmbedding`: class token and positions as one constant on the grid of the tokens that come in."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.nn import TokenEmbedding
from mfsim.quant.quantizers import ActivationQuant, BiasWord, QuantBiasMixin, plain


class QuantTokenEmbedding(QuantBiasMixin, nn.Module):
    """`TokenEmbedding` on codes: an input quantizer, a zero row in front, and a constant on the same grid.

    Parameters
    ----------
    layer : TokenEmbedding
    bits, signed : word of the input.
    bias_bits : int
        Bits of the constant.

    Attributes
    ----------
    bias : parameter, shape [1, T, width]
        Positions, with the class token in row 0.
    """

    bias_quant: nn.Module

    def __init__(self, layer: TokenEmbedding, bits: int, signed: bool, bias_bits: int) -> None:
        nn.Module.__init__(self)
        self.bias = nn.Parameter(layer.constant().detach().clone())
        self.rows = int(layer.class_token is not None)
        self.bias_bits = bias_bits
        self.input_quant = ActivationQuant(bits, signed)
        QuantBiasMixin.__init__(self, BiasWord.let(bit_width=bias_bits))

    def accumulator_scale(self) -> torch.Tensor:
        """Return the scale of the input, on which the constant lies."""
        return self.input_quant.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the tokens with their positions, shape [N, T, width]."""
        x = self.input_quant(x)
        if self.rows:
            x = F.pad(x, (0, 0, self.rows, 0))
        return x + plain(self.bias_quant(self.bias))

    def extra_repr(self) -> str:
        """Return the shape for `print(model)`."""
        return f"{tuple(self.bias.shape)}"
