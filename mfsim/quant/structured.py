"""Quantized layers whose weights are made from something else: cosine transform, filterbank, triangular matrix, gains.

Each is a product like those of `mfsim.quant.layers`, on a matrix that the float layer gives once:

    DCT               the matrix of the transform, not trained
    Filterbank        the fused matrix of each head, as a convolution with a group for each head, not trained
    TriangularLinear  the matrix with its zeros, which stay zeros
    Scaling           one weight for each index of an axis, a multiplication
    Affine            one weight for each channel; powers of two are a shift, not trained
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import nn

from mfsim.nn import functional
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.fourier import DCT
from mfsim.nn.gains import Affine, Scaling
from mfsim.nn.matrices import TriangularLinear
from mfsim.ops.grid.shift import OP as SHIFT
from mfsim.quant.layers import QuantConv2d, QuantLinear, QuantProduct, Words
from mfsim.quant.quantizers import ActivationQuant, BiasWord, QuantBiasMixin, plain


class QuantDCT(QuantLinear):
    """`DCT` on codes: a matrix product with fixed weights."""

    exported_as: ClassVar[tuple[str, ...]] = ("Gemm", "MatMul")

    fixed = ("weight_quant",)
    """Quantizers whose constants the architecture gives: their multiplications are counted apart."""

    def __init__(self, layer: DCT, words: Words) -> None:
        super().__init__(SimpleNamespace(weight=torch.tensor(layer.matrix(), dtype=torch.float32), bias=None), words)
        self.weight.requires_grad_(False)


class QuantTriangularLinear(QuantLinear):
    """`TriangularLinear` on codes.

    Attributes
    ----------
    weight : parameter, shape [width, width]
        [out, in]; entries where `kept` is 0 are never used.
    """

    exported_as: ClassVar[tuple[str, ...]] = ("Gemm", "MatMul")

    kept: torch.Tensor

    def __init__(self, layer: TriangularLinear, words: Words) -> None:
        super().__init__(SimpleNamespace(weight=layer.matrix().t(), bias=None), words)
        self.register_buffer("kept", torch.ones_like(self.weight).triu(), persistent=False)

    def used_weight(self) -> torch.Tensor:
        """Return the weights, 0 outside the triangle."""
        return self.weight * self.kept


class QuantFilterbank(QuantConv2d):
    """`Filterbank` on codes: tokens are channels, heads are groups, features are positions."""

    exported_as: ClassVar[tuple[str, ...]] = ("Conv",)

    def __init__(self, layer: Filterbank, words: Words) -> None:
        matrix = layer.matrix()
        self.heads, self.tokens = matrix.shape[:2]
        weight = matrix.reshape(self.heads * self.tokens, self.tokens, 1, 1)
        super().__init__(SimpleNamespace(weight=weight, bias=None, groups=self.heads), words)
        self.weight.requires_grad_(False)

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        return {"groups": layer.groups}

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the filtered tokens.

        Parameters
        ----------
        x : float tensor, shape [N, heads, tokens, features]
            Multiples of the input's scale.
        weight : float tensor, shape [heads * tokens, tokens, 1, 1]
            Multiples of `weight_scale`.
        bias : None

        Returns
        -------
        float tensor, of the shape of x
        """
        planes = x.reshape(-1, self.heads * self.tokens, x.shape[-1], 1)
        return super().product(planes, weight, bias).reshape(-1, self.heads, self.tokens, x.shape[-1])


class QuantAffine(QuantProduct):
    """`Affine` with free gains on codes: a multiplication for each code."""

    exported_as: ClassVar[tuple[str, ...]] = ("Mul",)

    multiplies = True

    def __init__(self, layer: Affine, words: Words) -> None:
        super().__init__(SimpleNamespace(weight=layer.gains(), bias=layer.beta), words)

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return x times its gains, plus the offsets.

        Parameters
        ----------
        x : float tensor, shape [..., width]
            Multiples of the input's scale.
        weight : float tensor, shape [width]
            Multiples of `weight_scale`.
        bias : float tensor, shape [width], or None
            Multiples of `accumulator_scale()`.

        Returns
        -------
        float tensor, shape [..., width]
        """
        y = x * weight
        return y if bias is None else y + bias


class QuantScaling(QuantProduct):
    """`Scaling` by any gains on codes: a multiplication for each code."""

    exported_as: ClassVar[tuple[str, ...]] = ("Mul",)

    multiplies = True

    def __init__(self, layer: Scaling, words: Words) -> None:
        super().__init__(SimpleNamespace(weight=layer.gains(), bias=None), words)
        self.channel_axis = layer.axis

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return x times its gains.

        Parameters
        ----------
        x : float tensor, shape [..., size, ...]
            `size` along `channel_axis`; multiples of the input's scale.
        weight : float tensor, shape [size, 1, ...]
            Multiples of `weight_scale`.
        bias : None

        Returns
        -------
        float tensor, of the shape of x
        """
        return x * weight


class QuantShiftAffine(QuantBiasMixin, nn.Module):
    """`Affine` with power-of-two gains on codes: 2**k (x + bias), the gain a change of scale.

    Parameters
    ----------
    layer : Affine
    bits, signed : word of the input.
    bias_bits : int
        Bits of the offsets, which lie on the grid of the input.

    Attributes
    ----------
    bias : parameter, shape [width]
        The layer's offsets divided by their gains.
    gain : buffer, shape [width]
    """

    exported_as: ClassVar[tuple[str, ...]] = SHIFT.onnx.op_types

    gain: torch.Tensor
    bias_quant: nn.Module

    def __init__(self, layer: Affine, bits: int, signed: bool, bias_bits: int) -> None:
        nn.Module.__init__(self)
        gain = layer.gains().detach()
        self.bias_bits = bias_bits
        self.register_buffer("gain", gain.clone())
        self.bias = nn.Parameter((layer.beta / gain).detach())
        self.input_quant = ActivationQuant(bits, signed)
        QuantBiasMixin.__init__(self, BiasWord.let(bit_width=bias_bits))

    def accumulator_scale(self) -> torch.Tensor:
        """Return the scale of the input, on which the offsets lie."""
        return self.input_quant.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the result, on a scale for each channel.

        Parameters
        ----------
        x : float tensor, shape [..., width]

        Returns
        -------
        float tensor, shape [..., width]
            Channel k in multiples of the input's scale times `gain[k]`.
        """
        return functional.shift(self.input_quant(x) + plain(self.bias_quant(self.bias)), self.gain)


STRUCTURED: dict[type[nn.Module], type[QuantProduct]] = {
    Affine: QuantAffine,
    DCT: QuantDCT,
    Filterbank: QuantFilterbank,
    Scaling: QuantScaling,
    TriangularLinear: QuantTriangularLinear,
}
"""The quantized layer for each layer whose weights are made from something else."""
