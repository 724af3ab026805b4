"""Quantized layers with weights: dense, MF, AdderNet, min-type and power-of-two, linear and 2-D convolution.

    y = product(input_quant(x), weight_quant(w)) + bias_quant(b), then the accumulator's word if one is fixed

Each is built from the float layer's geometry and a `Words`; scales are filled in by calibration or a
state dict. On codes the sum is exact in float32 while it stays below 2**24 of the finest grid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from mfsim.errors import UnsupportedOpError
from mfsim.nn import (
    AdderConv2d,
    AdderLinear,
    MFConv2d,
    MFLinear,
    MinConv2d,
    MinLinear,
    ShiftConv2d,
    ShiftLinear,
    functional,
)
from mfsim.ops.distance import torch as aligned
from mfsim.ops.distance.adder_conv2d import OP as ADDER_CONV2D
from mfsim.ops.distance.adder_matmul import OP as ADDER_MATMUL
from mfsim.ops.distance.min_conv2d import OP as MIN_CONV2D
from mfsim.ops.distance.min_matmul import OP as MIN_MATMUL
from mfsim.ops.mf.mf_conv2d import OP as MF_CONV2D
from mfsim.ops.mf.mf_matmul import OP as MF_MATMUL
from mfsim.ops.power_of_two import torch as power_weights
from mfsim.ops.power_of_two.shift_conv2d import OP as SHIFT_CONV2D
from mfsim.ops.power_of_two.shift_matmul import OP as SHIFT_MATMUL
from mfsim.quant.quantizers import (
    ActivationQuant,
    BiasWord,
    QuantBiasMixin,
    QuantWeightMixin,
    WeightWord,
    plain,
    stored_scale,
)


@dataclass(frozen=True)
class Words:
    """The words of one layer, as they are stored with the model."""

    activation: int
    signed: bool
    weight: int
    per_channel: bool
    bias: int
    accumulator: int = 0
    """0: the proved word."""
    overflow: str = "saturate"


class QuantProduct(QuantWeightMixin, QuantBiasMixin, nn.Module, ABC):
    """What the layers share: quantizers, the accumulator's grid, `forward`."""

    channel_axis = -1
    multiplies = False
    """Whether the accumulator lies on the product of both scales, and not on the finer one."""
    weight_quant: nn.Module
    bias_quant: nn.Module

    def __init__(self, layer: Any, words: Words) -> None:
        nn.Module.__init__(self)
        self.words = words
        self.weight = nn.Parameter(layer.weight.detach().clone())
        self.bias = nn.Parameter(layer.bias.detach().clone()) if layer.bias is not None else None
        self.input_quant = ActivationQuant(words.activation, words.signed)
        shape = (len(self.weight), *[1] * (self.weight.ndim - 1)) if words.per_channel else ()
        QuantWeightMixin.__init__(self, WeightWord.let(bit_width=words.weight, scale=torch.ones(shape)))
        QuantBiasMixin.__init__(self, BiasWord.let(bit_width=words.bias) if self.bias is not None else None)
        self.geometry: Mapping[str, Any] = self._geometry(layer)

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        return {}

    @property
    def output_channel_dim(self) -> int:
        """Axis of the weights that holds the output channels."""
        return 0

    @property
    def out_channels(self) -> int:
        """Number of output channels."""
        return len(self.weight)

    @property
    def weight_scale(self) -> torch.Tensor:
        """The stored weight scale: no axis, or [O, 1, ...]."""
        return stored_scale(self.weight_quant)

    def accumulator_scale(self) -> torch.Tensor:
        """Return the scale of product and bias: no axis, or one entry for each output."""
        weight_scale = self.weight_scale.reshape(-1) if self.words.per_channel else self.weight_scale
        if self.multiplies:
            return self.input_quant.scale * weight_scale
        return torch.minimum(self.input_quant.scale, weight_scale)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output on the accumulator's grid.

        Parameters
        ----------
        x : float tensor, as the float layer takes it

        Returns
        -------
        float tensor, as the float layer returns it
            Multiples of `accumulator_scale()`.
        """
        x = self.input_quant(x)
        weight = plain(self.weight_quant(self.used_weight()))
        bias = None if self.bias is None else plain(self.bias_quant(self.bias))
        y = self.product(x, weight, bias)
        if self.words.accumulator:
            scale = self._along_channels(self.accumulator_scale())
            y = functional.accumulator(y, scale, self.words.accumulator, overflow=self.words.overflow)
        return y

    def used_weight(self) -> torch.Tensor:
        """Return the float weights that are quantized."""
        weight: torch.Tensor = self.weight
        return weight

    @abstractmethod
    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return product plus bias of quantized operands.

        Parameters
        ----------
        x : float tensor, as the float layer takes it
            Multiples of the input's scale.
        weight : float tensor, shape [O, ...]
            Multiples of `weight_scale`.
        bias : float tensor, shape [O], or None
            Multiples of `accumulator_scale()`.

        Returns
        -------
        float tensor, as the float layer returns it
        """

    def _along_channels(self, values: torch.Tensor) -> torch.Tensor:
        return values.reshape(-1, *[1] * (-1 - self.channel_axis)) if values.ndim else values

    def extra_repr(self) -> str:
        """Return the words for `print(model)`."""
        return f"{tuple(self.weight.shape)}, {self.words}"


class QuantLinear(QuantProduct):
    """`nn.Linear` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = ("Gemm", "MatMul")

    multiplies = True

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the dense product plus bias.

        Parameters
        ----------
        x, weight, bias : [..., K], [O, K], [O] or None, as in `QuantProduct.product`
        """
        return nn.functional.linear(x, weight, bias)


class QuantConv2d(QuantProduct):
    """`nn.Conv2d` on codes; zero padding only."""

    exported_as: ClassVar[tuple[str, ...]] = ("Conv",)

    channel_axis = -3
    multiplies = True

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        if layer.padding_mode != "zeros":
            raise UnsupportedOpError(
                f"`padding_mode` of a quantized convolution must be zeros, not {layer.padding_mode!r}"
            )
        return {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation, "groups": layer.groups}

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the dense convolution plus bias.

        Parameters
        ----------
        x, weight, bias : [N, C, H, W], [O, C / groups, kh, kw], [O] or None, as in `QuantProduct.product`
        """
        return nn.functional.conv2d(x, weight, bias, **self.geometry)


class QuantMFLinear(QuantProduct):
    """`MFLinear` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MF_MATMUL.onnx.op_types

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        return {"form": layer.form, "sign_zero": layer.sign_zero, "grid": layer.grid}

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the MF product plus bias.

        Parameters
        ----------
        x, weight, bias : [..., K], [O, K], [O] or None, as in `QuantProduct.product`
        """
        y = functional.mf_matmul(x, weight.t(), **self.geometry)
        return y if bias is None else y + bias


class QuantMFConv2d(QuantProduct):
    """`MFConv2d` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MF_CONV2D.onnx.op_types

    channel_axis = -3

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        names = ("stride", "padding", "dilation", "groups", "form", "sign_zero", "grid")
        return {name: getattr(layer, name) for name in names}

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the MF convolution plus bias.

        Parameters
        ----------
        x, weight, bias : [N, C, H, W], [O, C / groups, kh, kw], [O] or None, as in `QuantProduct.product`
        """
        y = functional.mf_conv2d(x, weight, **self.geometry)
        return y if bias is None else y + bias[:, None, None]


class _OtherConv2d(QuantProduct):
    channel_axis = -3

    @staticmethod
    def _geometry(layer: Any) -> dict[str, Any]:
        return {name: getattr(layer, name) for name in ("stride", "padding", "dilation", "groups")}


class QuantAdderLinear(QuantProduct):
    """`AdderLinear` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = ADDER_MATMUL.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the adder product plus bias.

        Parameters
        ----------
        x, weight, bias : [..., K], [O, K], [O] or None, as in `QuantProduct.product`
        """
        y = aligned.adder_matmul(x, weight.t())
        return y if bias is None else y + bias


class QuantAdderConv2d(_OtherConv2d):
    """`AdderConv2d` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = ADDER_CONV2D.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the adder convolution plus bias.

        Parameters
        ----------
        x, weight, bias : [N, C, H, W], [O, C / groups, kh, kw], [O] or None, as in `QuantProduct.product`
        """
        y = aligned.adder_conv2d(x, weight, **self.geometry)
        return y if bias is None else y + bias[:, None, None]


class QuantMinLinear(QuantProduct):
    """`MinLinear` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MIN_MATMUL.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the min-type product plus bias.

        Parameters
        ----------
        x, weight, bias : [..., K], [O, K], [O] or None, as in `QuantProduct.product`
        """
        y = aligned.min_matmul(x, weight.t())
        return y if bias is None else y + bias


class QuantMinConv2d(_OtherConv2d):
    """`MinConv2d` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = MIN_CONV2D.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the min-type convolution plus bias.

        Parameters
        ----------
        x, weight, bias : [N, C, H, W], [O, C / groups, kh, kw], [O] or None, as in `QuantProduct.product`
        """
        y = aligned.min_conv2d(x, weight, **self.geometry)
        return y if bias is None else y + bias[:, None, None]


class PowerWeights(QuantProduct):
    """Weights of `bits` that are 0 or powers of two with a sign: codes up to 2**(bits - 2).

    The float weights are rounded in the log domain first, so their `Quant` only turns what is below its
    least code into 0.
    """

    multiplies = True

    def used_weight(self) -> torch.Tensor:
        """Return the weights rounded to powers of two that the word holds."""
        largest = self.weight_scale * 2.0 ** (self.words.weight - 2)
        return power_weights.power_of_two(self.weight, largest)


class QuantShiftLinear(PowerWeights):
    """`ShiftLinear` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = SHIFT_MATMUL.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the product with powers of two, plus bias.

        Parameters
        ----------
        x, weight, bias : [..., K], [O, K], [O] or None, as in `QuantProduct.product`
        """
        y = power_weights.shift_matmul(x, weight.t())
        return y if bias is None else y + bias


class QuantShiftConv2d(PowerWeights, _OtherConv2d):
    """`ShiftConv2d` on codes."""

    exported_as: ClassVar[tuple[str, ...]] = SHIFT_CONV2D.onnx.op_types

    def product(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Return the convolution with powers of two, plus bias.

        Parameters
        ----------
        x, weight, bias : [N, C, H, W], [O, C / groups, kh, kw], [O] or None, as in `QuantProduct.product`
        """
        y = power_weights.shift_conv2d(x, weight, **self.geometry)
        return y if bias is None else y + bias[:, None, None]


PRODUCTS: dict[type[nn.Module], type[QuantProduct]] = {
    nn.Linear: QuantLinear,
    nn.Conv2d: QuantConv2d,
    MFLinear: QuantMFLinear,
    MFConv2d: QuantMFConv2d,
    AdderLinear: QuantAdderLinear,
    AdderConv2d: QuantAdderConv2d,
    MinLinear: QuantMinLinear,
    MinConv2d: QuantMinConv2d,
    ShiftLinear: QuantShiftLinear,
    ShiftConv2d: QuantShiftConv2d,
}
"""The quantized layer for each layer with weights."""
