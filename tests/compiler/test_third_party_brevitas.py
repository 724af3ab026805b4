"""Files that Brevitas itself writes, with the scales and zero points that it learns by default."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch import nn

from mfsim.compiler import approximations
from mfsim.export.trace import trace
from tests.compiler.third_party import measured

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Brevitas, about its own deprecated parts
    import brevitas.nn as qnn
    from brevitas.quant import Int32Bias
    from brevitas.quant.scaled_int import Int8ActPerTensorFloat, Int8WeightPerChannelFloat, Uint8ActPerTensorFloat
    from brevitas.quant.shifted_scaled_int import ShiftedUint8ActPerTensorFloat, ShiftedUint8WeightPerTensorFloat


@pytest.fixture(autouse=True)
def _quiet_brevitas():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Network(nn.Module):
    """A convolution with scales of each channel, batch norm, a depthwise one, pooling, and a dense layer."""

    def __init__(self, activation, weight):
        super().__init__()
        self.entrance = qnn.QuantIdentity(act_quant=activation, return_quant_tensor=True)
        per_channel = {"weight_quant": Int8WeightPerChannelFloat, "weight_bit_width": 4}
        self.conv = qnn.QuantConv2d(3, 8, 3, padding=1, bias_quant=Int32Bias, **per_channel)
        self.norm = nn.BatchNorm2d(8)
        self.relu = qnn.QuantReLU(bit_width=4, act_quant=Uint8ActPerTensorFloat, return_quant_tensor=True)
        self.depthwise = qnn.QuantConv2d(8, 8, 3, padding=1, groups=8, bias=False, **per_channel)
        self.middle = qnn.QuantIdentity(act_quant=activation)
        self.pool = nn.MaxPool2d(2)
        self.dense = qnn.QuantLinear(128, 10, bias=True, weight_quant=weight)
        self.exit = qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat)

    def forward(self, x):
        x = self.relu(self.norm(self.conv(self.entrance(x))))
        x = self.pool(self.middle(self.depthwise(x)))
        return self.exit(self.dense(torch.flatten(x, 1)))


@pytest.mark.parametrize("shifted", [False, True])
def test_float_scales(shifted):
    torch.manual_seed(0)
    activation = ShiftedUint8ActPerTensorFloat if shifted else Int8ActPerTensorFloat
    weight = ShiftedUint8WeightPerTensorFloat if shifted else Int8WeightPerChannelFloat
    model = Network(activation, weight)
    for _ in range(5):
        model(torch.randn(32, 3, 8, 8))
    nn.init.uniform_(model.norm.weight, -1.5, 1.5)
    images = torch.randn(64, 3, 8, 8)
    program, (error,) = measured(trace(model.eval(), (images[:2],)), images.numpy())
    assert error.compared == 640
    assert error.greatest <= 1, str(error)
    assert error.rate < 0.01, str(error)
    assert len(approximations(program)) >= 4
    (name,) = program.inputs
    assert (f"input.{name}.zero_point" in program.metadata) == shifted
