"""Quantized layers of tokens: rotary positions, class tokens and learned positions."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import ShapeError
from mfsim.nn import TokenEmbedding
from mfsim.nn.tokens import Rope
from mfsim.quant.quantizers import ActivationQuant, BiasWord, QuantBiasMixin, plain

# `QuantRope`: rotary positions on codes, by fixed cosines and sines.
#
# y = x cos + swapped(x) sin,   swapped(x) = (second half, first half),   the sines of the first half negated


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

    exported_as: ClassVar[tuple[str, ...]] = ("Mul",)

    fixed = ("cosine_quant", "sine_quant")
    """Quantizers whose constants the architecture gives: their multiplications are counted apart."""
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

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        """Return x with its feature pairs rotated by their positions.

        Parameters
        ----------
        x : float tensor, shape [..., T, length], or [N, heads, 1, length] with `positions`
        positions : int64 tensor, shape [N, 1], or None
            Of each sample, in 0 .. `tokens` - 1; None for rows of the positions 0 .. T - 1.

        Returns
        -------
        float tensor, of the shape of x
            Multiples of the input's scale times that of cosines and sines.

        Raises
        ------
        ShapeError
            If x has another width or more than `tokens` rows; not checked with `positions`.
        """
        if positions is not None:
            return self._rotated(x, *(self._rows(table, positions, x.shape[1]) for table in self._tables()))
        rows = slice(x.shape[-2])
        if x.shape[-1] != self.length or rows.stop > self.tokens:
            raise ShapeError(
                f"rotary positions of {self.tokens} tokens of width {self.length} do not suit x {tuple(x.shape)}"
            )
        return self._rotated(x, self.cosine_quant(self.cosines[rows]), self.sine_quant(self.sines[rows]))

    def _rotated(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        x = self.input_quant(x)
        first, second = x[..., : self.length // 2], x[..., self.length // 2 :]
        return x * cosines + torch.cat((second, first), -1) * sines

    def _tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.cosine_quant(self.cosines), self.sine_quant(self.sines)

    @staticmethod
    def _rows(table: torch.Tensor, positions: torch.Tensor, heads: int) -> torch.Tensor:
        """Return the row of each position, [N, heads, 1, length]: once for each head, as products do not broadcast."""
        return nn.functional.embedding(torch.cat([positions] * heads, 1), table).unsqueeze(2)

    def extra_repr(self) -> str:
        """Return the sizes for `print(model)`."""
        return f"{self.length}, tokens={self.tokens}"


# `QuantTokenEmbedding`: class token and positions as one constant on the grid of the tokens that come in.


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

    exported_as: ClassVar[tuple[str, ...]] = ("Add",)

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
        """Return the tokens with their positions.

        Parameters
        ----------
        x : float tensor, shape [N, tokens, width]

        Returns
        -------
        float tensor, shape [N, T, width]
            T is `tokens`, and one more with a class token; multiples of the input's scale.
        """
        x = self.input_quant(x)
        if self.rows:
            x = F.pad(x, (0, 0, self.rows, 0))
        return x + plain(self.bias_quant(self.bias))

    def extra_repr(self) -> str:
        """Return the shape for `print(model)`."""
        return f"{tuple(self.bias.shape)}"
