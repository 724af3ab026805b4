"""A quantized network and its ends; layers that stay, with a quantizer behind them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from mfsim.keywords import check_constructor
from mfsim.quant.calibration import Calibration
from mfsim.quant.quantizers import ActivationQuant


class Requantized(nn.Module):
    """Put in front of a layer's class: the layer, with a quantizer behind it, at the same path."""

    result_quant: ActivationQuant

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Return the quantized result.

        Parameters
        ----------
        *inputs : float tensor
            As the layer takes them.

        Returns
        -------
        float tensor, as the layer returns it
            On the grid of `result_quant`.
        """
        values: torch.Tensor = self.result_quant(super().forward(*inputs))
        return values


def requantized(layer: nn.Module, bits: int, signed: bool) -> nn.Module:
    """Return a copy of `layer` with a quantizer behind it; it is still one of its class.

    Parameters
    ----------
    layer : torch.nn.Module
        Left as it is.
    bits : int in 2..32
        Of the result's word.
    signed : bool
        Whether that word is signed.

    Returns
    -------
    torch.nn.Module
    """
    kind = type(layer)
    layer = copy.deepcopy(layer)
    layer.__class__ = type(f"Requantized{kind.__name__}", (Requantized, kind), {})
    layer.add_module("result_quant", ActivationQuant(bits, signed))
    return layer


@check_constructor
class QuantizedNetwork(nn.Module):
    """A network whose layers are quantized, with quantizers at its ends.

    Attributes
    ----------
    model : the network; its modules have the paths that they have in the float network.
    input_quant : quantizer of each input that is no integers, or none where the first layers' own ones serve.
    output_quant : quantizer of each output, so that all codes of one output share a scale.
    sites : what was replaced in `model`, as it is saved.
    calibration : what its scales were decided from; None before that.
    example : the first two samples that it was calibrated with; None for one that was read from a file.
    """

    calibration: Calibration | None
    example: tuple[torch.Tensor, ...] | None

    def __init__(self, model: nn.Module, sites: tuple[Any, ...], outputs: int, output_bits: int) -> None:
        super().__init__()
        self.model, self.sites, self.calibration, self.example = model, sites, None, None
        self.input_quant = nn.ModuleList()
        self.output_quant = nn.ModuleList(ActivationQuant(output_bits) for _ in range(outputs))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        """Return the quantized output, or a tuple of them.

        Parameters
        ----------
        *inputs : float or int64 tensors, shape [N, ...]
            As the float network takes them; integers pass without a quantizer.

        Returns
        -------
        float tensor, or tuple of them
            As the float network returns them, on the grids of `output_quant`.
        """
        if self.input_quant:
            quantizers = iter(self.input_quant)
            inputs = tuple(next(quantizers)(x) if x.is_floating_point() else x for x in inputs)
        outputs = self.model(*inputs)
        if isinstance(outputs, torch.Tensor):
            (quantizer,) = self.output_quant
            quantized: torch.Tensor = quantizer(outputs)
            return quantized
        return tuple(quantizer(y) for quantizer, y in zip(self.output_quant, outputs, strict=True))
