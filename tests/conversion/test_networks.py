"""Networks as torchvision and timm write them, from the examples: sizes of the originals, every kind of layer."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import torch
from torch import nn

import mfsim
from mfsim.nn import MFConv2d, MFLinear, ShiftBatchNorm2d, WHTLayer

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def example(name: str):
    """Return the module of an example."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_resnet_18_of_full_size():
    given = example("convert_resnet")
    network = given.resnet18()
    conversion = mfsim.convert(network, given.RULES)
    # 11,689,512: `num_params` of ResNet18_Weights.IMAGENET1K_V1 in torchvision/models/resnet.py.
    assert conversion.parameters_before == conversion.parameters_after == 11_689_512
    kinds = [type(module) for module in conversion.model.modules()]
    assert (kinds.count(MFConv2d), kinds.count(ShiftBatchNorm2d), kinds.count(MFLinear)) == (20, 20, 1)
    assert not {nn.Conv2d, nn.BatchNorm2d, nn.Linear} & set(kinds)
    assert conversion.model.state_dict()["layer4.1.conv2.weight"].shape == (512, 512, 3, 3)
    assert torch.equal(conversion.model.layer2[0].downsample[0].weight, network.layer2[0].downsample[0].weight)


def test_pointwise_convolutions_of_a_resnet_become_walsh_hadamard_layers():
    """Only those that keep the shape can: a shortcut with a stride is refused by name."""
    given = example("convert_resnet")
    network = given.resnet18((1, 8, 8), 10, width=4, stem=3)
    with pytest.raises(mfsim.UnsupportedOpError) as error:
        mfsim.convert(network, [{"match": "*.downsample.0", "to": "wht"}])
    assert str(error.value) == (
        "layer `layer2.0.downsample.0` (Conv2d) cannot become wht, as the rule `*.downsample.0` asks: "
        "it must have as many outputs as inputs in one group, not 8 for 4 in 1"
    )
    rules = [{"match": "layer1.*.conv?", "to": "wht", "over": "plane", "plane": [8, 8], "residual": False}]
    converted = mfsim.convert(network, rules, example=torch.zeros(2, 1, 8, 8)).model
    assert [type(m) for m in converted.modules()].count(WHTLayer) == 4


def test_a_vision_transformer():
    given = example("convert_vit")
    network = given.vit((1, 8, 8), 10, side=2, width=32, depth=3, heads=2)
    conversion = mfsim.convert(network, mfsim.Rules.from_toml(given.RULES), example=torch.zeros(2, 1, 8, 8))
    assert [c.became for c in conversion.changes[:4]] == [
        "MFLinear 32 to 96, ef, norm",
        "WHTLayer 32 over channels",
        "MFLinear 32 to 128, ef, norm",
        "MFLinear 128 to 32, ef, norm",
    ]
    assert len(conversion.changes) == 13
    assert {e.layer for e in conversion.left} >= {"(network)", "patch_embed.proj", "blocks.2.norm2", "norm"}
    assert conversion.model(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
