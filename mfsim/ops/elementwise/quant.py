"""Quantized elementwise layers: soft threshold and clip."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from mfsim.nn import SoftThreshold, functional
from mfsim.ops.elementwise.soft_threshold import OP as SOFT_THRESHOLD
from mfsim.quant.quantizers import ActivationQuant


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
        """Return the clipped x.

        Parameters
        ----------
        x : float tensor
            Of any shape.

        Returns
        -------
        float tensor, same shape
            Values between the bounds, on the quantizer's grid.
        """
        return super().forward(self.input_quant(x))


class QuantSoftThreshold(nn.Module):
    """`SoftThreshold` on codes: T is an unsigned code on the scale of its input.

    With `bits` the layer has an input quantizer; with `bits` 0 its input already lies on one scale,
    which is that of `threshold_quant`. `proved` says that the thresholds' word is as wide as its input.
    """

    exported_as: ClassVar[tuple[str, ...]] = SOFT_THRESHOLD.onnx.op_types

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
        """Return the thresholded x.

        Parameters
        ----------
        x : float tensor
            With `size` entries along `axis`.

        Returns
        -------
        float tensor, same shape
            On the grid of x.
        """
        if self.input_quant is not None:
            x = self.input_quant(x)
        thresholds = self.weight.abs().reshape(-1, *[1] * (-1 - self.axis))
        return functional.soft_threshold(x, self.threshold_quant(thresholds))

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.size}, axis={self.axis}"
