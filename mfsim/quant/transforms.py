"""Quantized layers without weights: Walsh-Hadamard transform, soft threshold, and the network's ends."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from mfsim.nn import WHT, SoftThreshold, functional
from mfsim.quant.calibration import Calibration
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
        """Return the transform of the quantized x."""
        return super().forward(self.input_quant(x))


class QuantHardtanh(nn.Hardtanh):
    """`Hardtanh` or `ReLU6` on codes: an input quantizer brings all channels to one grid, on which the bounds lie.

    With a lower bound of 0 it is unsigned: negative values saturate to the bound anyway.
    """

    def __init__(self, layer: nn.Hardtanh, bits: int, signed: bool) -> None:
        super().__init__(layer.min_val, layer.max_val)
        self.input_quant = ActivationQuant(bits, signed)

    @property
    def largest(self) -> float:
        """The larger bound: what lies beyond it need not be represented."""
        return max(abs(self.min_val), abs(self.max_val))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the clipped x."""
        return super().forward(self.input_quant(x))


class Requantized(nn.Module):
    """Put in front of a layer's class: the layer, with a quantizer behind it, at the same path."""

    result_quant: ActivationQuant

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the quantized result."""
        values: torch.Tensor = self.result_quant(super().forward(*inputs))
        return values


def requantized(layer: nn.Module, bits: int, signed: bool) -> nn.Module:
    """Return a copy of `layer` with a quantizer behind it; it is still one of its class."""
    kind = type(layer)
    layer = copy.deepcopy(layer)
    layer.__class__ = type(f"Requantized{kind.__name__}", (Requantized, kind), {})
    layer.add_module("result_quant", ActivationQuant(bits, signed))
    return layer


class QuantSoftThreshold(nn.Module):
    """`SoftThreshold` on codes: T is an unsigned code on the scale of its input.

    With `bits` the layer has an input quantizer; with `bits` 0 its input already lies on one scale,
    which is that of `threshold_quant`. `proved` says that the thresholds' word is as wide as its input.
    """

    def __init__(
        self, layer: SoftThreshold, threshold_bits: int, proved: bool, bits: int = 0, signed: bool = True
    ) -> None:
        super().__init__()
        self.proved = proved
        self.size, self.axis = layer.size, layer.axis
        self.weight = nn.Parameter(layer.weight.detach().clone())
        self.input_quant = ActivationQuant(bits, signed) if bits else None
        self.threshold_quant = ActivationQuant(threshold_bits, signed=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the thresholded x."""
        if self.input_quant is not None:
            x = self.input_quant(x)
        thresholds = self.weight.abs().reshape(-1, *[1] * (-1 - self.axis))
        return functional.soft_threshold(x, self.threshold_quant(thresholds))

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}"


class QuantizedNetwork(nn.Module):
    """A network whose layers are quantized, with quantizers at its ends.

    Attributes
    ----------
    model : the network; its modules have the paths that they have in the float network.
    input_quant : quantizer of each input that is no integers, or none where the first layers' own ones serve.
    output_quant : quantizer of each output, so that all codes of one output share a scale.
    sites : what was replaced in `model`, as it is saved.
    calibration : what its scales were decided from; None before that.
    """

    calibration: Calibration | None

    def __init__(self, model: nn.Module, sites: tuple[Any, ...], outputs: int, output_bits: int) -> None:
        super().__init__()
        self.model, self.sites, self.calibration = model, sites, None
        self.input_quant = nn.ModuleList()
        self.output_quant = nn.ModuleList(ActivationQuant(output_bits) for _ in range(outputs))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Return the quantized output, or a tuple of them."""
        if self.input_quant:
            quantizers = iter(self.input_quant)
            inputs = tuple(next(quantizers)(x) if x.is_floating_point() else x for x in inputs)
        outputs = self.model(*inputs)
        if isinstance(outputs, torch.Tensor):
            (quantizer,) = self.output_quant
            quantized: torch.Tensor = quantizer(outputs)
            return quantized
        return tuple(quantizer(y) for quantizer, y in zip(self.output_quant, outputs, strict=True))
