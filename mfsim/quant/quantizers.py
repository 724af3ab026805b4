"""Quantizers with power-of-two scales: Brevitas words whose scale is stored, never learned.

Brevitas' own fixed-point quantizers take their scale from statistics, which move while weights are
trained and are found anew on loading. Here the scale is a buffer: calibration writes it, training
leaves it alone, and a state dict brings it back exactly. Zero points are 0, rounding is half-even;
weights are signed and narrow, activations are not narrow.

A bias lies on the grid of its accumulator: the product of both scales behind a dense product, the
finer one behind an MF product (Brevitas' `Int32Bias` knows only the first). `AccumulatorBiasProxy`
asks the layer; as Brevitas finds export handlers by exact class, `AccumulatorBiasHandler` is its own.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

with warnings.catch_warnings():
    # On import Brevitas warns of an optional CUDA package that is not there, and of its own deprecated parts.
    warnings.simplefilter("ignore")
    from brevitas.core.bit_width import BitWidthConst
    from brevitas.core.function_wrapper import Identity, RoundSte, TensorClamp, TensorClampSte
    from brevitas.core.quant import IntQuant, PrescaledRestrictIntQuant, RescalingIntQuant
    from brevitas.core.zero_point import ZeroZeroPoint
    from brevitas.export.manager import ExportContext
    from brevitas.export.onnx.qonnx.handler import BrevitasBiasQuantProxyHandler
    from brevitas.export.onnx.qonnx.manager import QONNXDynamoManager
    from brevitas.inject import ExtendedInjector
    from brevitas.inject.enum import FloatToIntImplType
    from brevitas.nn import QuantIdentity
    from brevitas.nn.mixin import QuantBiasMixin, QuantWeightMixin
    from brevitas.proxy import ActQuantProxyFromInjector, BiasQuantProxyFromInjector, WeightQuantProxyFromInjector

__all__ = [
    "AccumulatorBiasHandler",
    "ActivationQuant",
    "BiasWord",
    "ExportContext",
    "QONNXDynamoManager",
    "QuantBiasMixin",
    "QuantWeightMixin",
    "WeightWord",
    "plain",
    "stored_scale",
]


class StoredScale(nn.Module):
    """The scale of a quantizer, as a buffer."""

    scale: torch.Tensor

    def __init__(self, scale: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("scale", scale.detach().clone())

    def forward(self, x: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
        """Return the stored scale, whatever Brevitas measured.

        Parameters
        ----------
        x, threshold : tensor
            What Brevitas passes; unused.

        Returns
        -------
        float tensor, of no axis or one that broadcasts against the values
            Powers of two.
        """
        return self.scale


class _UnitThreshold(nn.Module):
    """Brevitas divides a threshold on values by one on codes; here the scale is given as it is."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, bit_width: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(bit_width)


class _Word(ExtendedInjector):
    bit_width_impl = BitWidthConst
    float_to_int_impl = RoundSte
    float_to_int_impl_type = FloatToIntImplType.ROUND
    input_view_impl = Identity
    int_quant = IntQuant
    int_scaling_impl = _UnitThreshold
    scaling_impl = StoredScale
    zero_point_impl = ZeroZeroPoint


class ActivationWord(_Word):
    """An activation; `bit_width`, `signed` and `scale` are given with `let`."""

    narrow_range = False
    proxy_class = ActQuantProxyFromInjector
    tensor_clamp_impl = TensorClamp
    tensor_quant = RescalingIntQuant


class WeightWord(_Word):
    """A weight, signed and narrow; `bit_width` and `scale` are given with `let`."""

    narrow_range = True
    proxy_class = WeightQuantProxyFromInjector
    signed = True
    tensor_clamp_impl = TensorClampSte
    tensor_quant = RescalingIntQuant


class AccumulatorBiasProxy(BiasQuantProxyFromInjector):
    """A bias on the grid that its layer's `accumulator_scale()` returns."""

    def compute_bias_scale(self, input: object, weight: object) -> torch.Tensor:
        """Return the scale of the accumulator.

        Parameters
        ----------
        input, weight : object
            What Brevitas passes; unused.

        Returns
        -------
        float tensor, shape () or [O]
            Powers of two.
        """
        return self.scale()

    def scale(self) -> torch.Tensor:
        """Return the scale of the accumulator: no axis, or one entry for each output."""
        scale: torch.Tensor = self.tracked_module_list[0].accumulator_scale()
        return scale


class AccumulatorBiasHandler(BrevitasBiasQuantProxyHandler):
    """Writes the bias as a QONNX `Quant`."""

    handled_layer = AccumulatorBiasProxy


class BiasWord(_Word):
    """A bias, signed; `bit_width` is given with `let`."""

    narrow_range = False
    proxy_class = AccumulatorBiasProxy
    requires_input_scale = True
    signed = True
    tensor_clamp_impl = TensorClampSte
    tensor_quant = PrescaledRestrictIntQuant


class ActivationQuant(QuantIdentity):
    """Quantize a tensor to a word with one power-of-two scale.

    Parameters
    ----------
    bits : int in 2..32
    signed : bool
    scale : float
        A power of two.
    """

    def __init__(self, bits: int, signed: bool = True, scale: float = 1.0) -> None:
        word = ActivationWord.let(bit_width=bits, signed=signed, scale=torch.tensor(float(scale)))
        super().__init__(act_quant=word, return_quant_tensor=False)
        self.bits, self.signed = bits, signed

    @property
    def scale(self) -> torch.Tensor:
        """The stored scale."""
        return stored_scale(self.act_quant)

    def extra_repr(self) -> str:
        """Return the word for `print(model)`; the scale is left out, because torch's exporter prints modules too."""
        return f"bits={self.bits}, signed={self.signed}"


def stored_scale(proxy: nn.Module) -> torch.Tensor:
    """Return the buffer that holds the scale of a quantizer made of the words above.

    Parameters
    ----------
    proxy : torch.nn.Module
        A quantizer made of the words above.

    Returns
    -------
    float tensor
        The buffer itself, not a copy.

    Raises
    ------
    TypeError
        If it holds no stored scale.
    """
    for module in proxy.modules():
        if isinstance(module, StoredScale):
            return module.scale
    raise TypeError(f"{type(proxy).__name__} has no stored scale")


def plain(x: Any) -> torch.Tensor:
    """Return the values of a Brevitas tensor.

    Parameters
    ----------
    x : Brevitas tensor or tensor
        A tensor is returned as it is.

    Returns
    -------
    tensor
    """
    values: torch.Tensor = getattr(x, "value", x)
    return values
