"""Layers with every option: the exported file gives the codes of torch, and the values of the float network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.export.exporter import float_model, quantized_model
from mfsim.export.runtime import run, session
from mfsim.nn import WHT, AvgPool2d, MFConv2d, MFLinear, ShiftBatchNorm2d, SoftThreshold, WHTLayer
from mfsim.quant import Recipe, fold, quantize
from tests.quant.networks import images, settled


def image_network(layer, channels, features):
    return nn.Sequential(
        MFConv2d(1, channels, 3, padding=1, bias=False),
        ShiftBatchNorm2d(channels),
        nn.ReLU(),
        layer,
        nn.Flatten(),
        MFLinear(features, 5),
    )


def feature_network(layer):
    return nn.Sequential(nn.Flatten(), MFLinear(64, 16), layer, MFLinear(16, 5))


NETWORKS = {
    "wht-plane": lambda: image_network(WHTLayer(4, (8, 8), over="plane"), 4, 256),
    "wht-plane-sequency-abs": lambda: image_network(
        WHTLayer(4, (8, 8), over="plane", order="sequency", form="abs", sign_zero=1), 4, 256
    ),
    "wht-pad": lambda: image_network(WHTLayer(6, size="pad"), 6, 384),
    "wht-block": lambda: image_network(WHTLayer(12, size="block", residual=False), 12, 768),
    "wht-features": lambda: feature_network(WHTLayer(16, layout="features", norm=False, grid="shared")),
    "transform-and-threshold": lambda: feature_network(
        nn.Sequential(WHT(order="sequency"), SoftThreshold(16), WHT(inverse=True, order="sequency"))
    ),
    "convolutions": lambda: image_network(
        nn.Sequential(
            MFConv2d(4, 8, (3, 2), stride=(2, 1), padding=(1, 0, 2, 1), groups=2, sign_zero=1, form="abs"),
            nn.MaxPool2d(2, stride=1, padding=1),
            nn.Conv2d(8, 4, 3, dilation=2, padding=1, groups=4),
            nn.ZeroPad2d((1, 0, 2, 1)),
            AvgPool2d(2, padding=1),
        ),
        4,
        80,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_options(name):
    folded = fold(settled(NETWORKS[name]()), images(2))
    network = quantize(folded, Recipe.from_dict({"weight": 6}), images())
    x = images(40, 8)
    with torch.no_grad():
        wanted, codes = folded(x).numpy(), network(x).numpy()
    model, floats = quantized_model(network, x), float_model(folded, x)
    for optimise in (True, False):
        assert np.array_equal(run(session(model, optimise), x.numpy())["output"], codes)
        found = run(session(floats, optimise), x.numpy())["output"]
        # The order of summing may differ; float32 has 24 bits.
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
