"""What Brevitas or torch lose in silence becomes an error."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mfsim.errors import ExportError, FormatError, ModelError
from mfsim.export.exporter import quantized_model
from mfsim.nn import MFLinear
from mfsim.quant import Recipe, quantize
from mfsim.quant.quantizers import ActivationQuant
from tests.quant.networks import images, settled


def refused(network, message, error=ExportError):
    with pytest.raises(error) as caught:
        quantized_model(network, images(2))
    assert str(caught.value) == message


def quantized(model):
    return quantize(settled(model), Recipe(), images())


class Constant(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 3)
        self.offset = nn.Parameter(torch.tensor([0.3, 0.1, 0.2]))

    def forward(self, x):
        return self.layer(x.flatten(1)) + self.offset


def test_a_constant_that_no_quantizer_has_touched():
    refused(
        quantized(Constant()), "node `/Add` (Add) of layer `` reads the constant `bias`, which no quantizer has touched"
    )


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 3)

    def forward(self, x):
        return torch.round(self.layer(x.flatten(1)))


def test_rounding_outside_a_quantizer():
    refused(
        quantized(Rounded()),
        "node `/Round` (Round) of layer `` rounds outside a Quant: a quantizer was taken apart on export",
    )


class Skips(nn.Module):
    """While exporting, the layer is left out."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = MFLinear(64, 64), MFLinear(64, 3)

    def forward(self, x):
        x = x.flatten(1)
        return self.last(x if torch.onnx.is_in_onnx_export() else self.layer(x))


def test_a_layer_that_left_no_node():
    refused(quantized(Skips()), "layer `layer` (QuantMFLinear) left no MFMatMul node in the exported graph")


def test_a_quantizer_that_left_no_node():
    network = quantized(nn.Sequential(nn.Flatten(), MFLinear(64, 3)))
    network.model[0].extra_quant = ActivationQuant(8)
    refused(network, "quantizer `0.extra_quant` left no Quant node in the exported graph")


def test_a_graph_with_nothing_in_it():
    refused(
        nn.Sequential(nn.Identity()),
        "the exported graph is empty; the model has a layer that torch or Brevitas does not export",
    )


def test_scales_that_are_no_powers_of_two():
    network = quantized(nn.Sequential(nn.Flatten(), MFLinear(64, 3)))
    network.model[1].input_quant.scale.fill_(0.3)
    refused(network, "node `1.input_quant` (Quant) of layer `1` has a scale that is no power of two")


class Unknown(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 3)

    def forward(self, x):
        return torch.tanh(self.layer(x.flatten(1)))


def test_a_function_without_an_integer_form_is_refused_by_the_compiler():
    with pytest.raises(ValueError, match=r"^node `/Tanh` has the op Tanh of the domain ai.onnx, which has no rule"):
        quantized_model(quantized(Unknown()), images(2))


class Controlled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 3)

    def forward(self, x):
        y = self.layer(x.flatten(1))
        return y if y.sum() > 0 else -y


def test_a_model_that_torch_cannot_trace():
    with pytest.raises(ExportError, match=r"^torch cannot export the model: \w+: .*$"):
        quantized_model(quantized(Controlled()), images(2))


def test_a_model_that_returns_no_tensor():
    class Odd(nn.Module):
        def forward(self, x):
            return "text"

    refused(Odd(), "the network must return a tensor or a tuple of tensors, not a str", ModelError)


class Clamped(nn.Module):
    def __init__(self, gain):
        super().__init__()
        self.layer = MFLinear(64, 3)
        self.gain = gain

    def forward(self, x):
        return torch.clamp(self.layer(x.flatten(1)), -1, 1) * self.gain


def test_bounds_and_gains_need_no_quantizer_where_they_are_exact_on_codes():
    assert {"Max", "Min", "Mul"} < {n.op_type for n in quantized_model(quantized(Clamped(0.25)), images(2)).graph.node}
    with pytest.raises(FormatError, match=r"^node `/Mul` \(Mul\): the gain must be a power of two, not 0\.3"):
        quantized_model(quantized(Clamped(0.3)), images(2))
