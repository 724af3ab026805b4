"""Networks made of Brevitas' own layers: what is in the dialect is exported, what would be lost is refused."""

from __future__ import annotations

import warnings

import numpy as np
import onnx.helper
import pytest
import torch
from torch import nn

from mfsim.compiler import compile_model
from mfsim.errors import ExportError
from mfsim.export.exporter import quantized_model
from mfsim.export.runtime import run, session

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Brevitas, about its own deprecated parts
    import brevitas.nn as qnn
    from brevitas.inject.enum import FloatToIntImplType
    from brevitas.quant import Int32Bias
    from brevitas.quant.fixed_point import (
        Int8ActPerTensorFixedPoint,
        Int8WeightPerChannelFixedPoint,
        Int8WeightPerTensorFixedPoint,
        Uint8ActPerTensorFixedPoint,
    )
    from brevitas.quant.scaled_int import Int8WeightPerTensorFloat


class FloorWeight(Int8WeightPerTensorFixedPoint):
    float_to_int_impl_type = FloatToIntImplType.FLOOR


def samples(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(3))


@pytest.fixture(autouse=True)
def _quiet_brevitas():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def calibrated(model, x):
    for _ in range(3):
        model(x)
    return model.eval()


def network(weight):
    torch.manual_seed(0)
    return nn.Sequential(
        qnn.QuantIdentity(act_quant=Int8ActPerTensorFixedPoint, return_quant_tensor=True),
        qnn.QuantLinear(16, 8, weight_quant=weight, bias_quant=Int32Bias, return_quant_tensor=True),
        qnn.QuantReLU(act_quant=Uint8ActPerTensorFixedPoint, return_quant_tensor=True),
        qnn.QuantLinear(8, 4, weight_quant=weight, bias_quant=Int32Bias),
        qnn.QuantIdentity(act_quant=Int8ActPerTensorFixedPoint),
    )


@pytest.mark.parametrize("weight", [Int8WeightPerTensorFixedPoint, Int8WeightPerChannelFixedPoint, FloorWeight])
def test_fixed_point_layers_are_exported_with_their_true_rounding(weight):
    x = samples(32, 16)
    model = calibrated(network(weight), x)
    proto = quantized_model(model, x)
    found = run(session(proto), x.numpy())["output"]
    assert np.array_equal(found, model(x).detach().numpy())
    modes = {
        node.name: onnx.helper.get_node_attr_value(node, "rounding_mode")
        for node in proto.graph.node
        if node.op_type == "Quant"
    }
    assert modes["1.weight_quant"] == (b"FLOOR" if weight is FloorWeight else b"ROUND")
    assert modes["0"] == b"ROUND"
    assert compile_model(proto).outputs == ("output",)


def test_scales_that_are_no_powers_of_two_are_refused():
    model = calibrated(network(Int8WeightPerTensorFloat), samples(32, 16))
    with pytest.raises(
        ExportError, match=r"^node `1.weight_quant` \(Quant\) of layer `1` has a scale that is no power of two$"
    ):
        quantized_model(model, samples(2, 16))


class Attention(nn.Module):
    def __init__(self, packed):
        super().__init__()
        self.entry = qnn.QuantIdentity(act_quant=Int8ActPerTensorFixedPoint)
        self.attention = qnn.QuantMultiheadAttention(16, 2, packed_in_proj=packed, batch_first=True)

    def forward(self, x):
        x = self.entry(x)
        return self.attention(x, x, x)[0]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = qnn.QuantLSTM(16, 8)

    def forward(self, x):
        return self.layer(x)[0]


@pytest.mark.parametrize("model", [Recurrent(), Attention(True), Attention(False)])
def test_what_brevitas_takes_apart_on_export_is_refused(model):
    x = samples(4, 5, 16)
    with pytest.raises(ExportError):
        quantized_model(calibrated(model, x), x)
