"""Which keys of a recipe a layer has a use for."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from torch import nn

from mfsim import quant
from mfsim.nn import MFLinear, SoftThreshold, WHTLayer
from mfsim.quant.choose_qparams import _OTHERS, sweep_keys
from mfsim.quant.recipe import LayerRecipe

PRODUCT = ("weight", "activation", "bias", "accumulator", "overflow", "per_channel", "calibration")
NETWORK = nn.Sequential(
    nn.Linear(8, 8), MFLinear(8, 8, grid="shared"), SoftThreshold(8), WHTLayer(8, layout="features"), nn.ReLU()
)


@pytest.fixture(scope="module")
def asked():
    folded = quant.fold(NETWORK.eval(), torch.rand(2, 8))
    network = quant.quantize(folded, quant.Recipe(layers={"4": {}}), torch.rand(16, 8))
    return {subject.path: sweep_keys(subject) for subject in network.calibration.subjects}


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("0", PRODUCT),
        ("1", tuple(key for key in PRODUCT if key != "per_channel")),
        ("2", ("activation", "threshold", "calibration")),
        ("3.entry", ("activation", "calibration")),
        ("3.product", PRODUCT),
        ("4", ("activation", "calibration")),
    ],
)
def test_keys_of_each_kind_of_layer(asked, path, keys):
    assert asked[path] == keys


def test_every_key_of_a_recipe_is_asked_for():
    assert {*_OTHERS, "calibration"} == {field.name for field in fields(LayerRecipe)}
    for key, value in _OTHERS.items():
        assert getattr(LayerRecipe(), key) != value
