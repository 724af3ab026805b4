"""Whole networks: which layers are converted, what is reported, and what is refused."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from torch import nn

import mfsim
from mfsim.errors import ConversionError, ModelError, UnsupportedOpError
from mfsim.nn import MFConv2d, MFLinear, ShiftBatchNorm2d, WHTLayer
from tests.conversion.networks import Reader, Shared, Small, integers

ALL = [
    {"match": "*", "to": "mf"},
    {"match": "*", "to": "shift"},
    {"match": "body", "to": "wht", "size": "exact"},
    {"match": "fc2", "to": "keep"},
]


def test_the_last_rule_about_a_layer_holds():
    model = Small()
    conversion = mfsim.convert(model, ALL, example=integers(3, 2, 2, 2))
    kinds = {path: type(module) for path, module in conversion.model.named_modules()}
    assert kinds["stem"] is MFConv2d
    assert kinds["bn"] is kinds["body.1"] is ShiftBatchNorm2d
    assert kinds["body.0"] is WHTLayer
    assert kinds["fc1"] is MFLinear
    assert kinds["fc2"] is nn.Linear
    assert [(c.layer, c.rule, c.parameters_before, c.parameters_after) for c in conversion.changes] == [
        ("stem", "*", 72, 72),
        ("bn", "*", 8, 8),
        ("body.0", "body", 20, 28),
        ("body.1", "*", 8, 8),
        ("fc1", "*", 272, 272),
    ]
    assert [(e.layer, e.kind, e.parameters, e.rule) for e in conversion.left] == [
        ("(network)", "Small", 1, ""),
        ("relu", "ReLU", 0, ""),
        ("body.2", "ReLU", 0, ""),
        ("fc2", "Linear", 51, "fc2"),
    ]
    assert conversion.parameters_before == sum(p.numel() for p in model.parameters())
    assert conversion.parameters_after == conversion.parameters_before + 8


def test_the_given_model_is_left_as_it_is():
    model = Small()
    before = copy.deepcopy(model.state_dict())
    converted = mfsim.convert(model, ALL, example=integers(3, 2, 2, 2)).model
    assert type(model.fc1) is nn.Linear
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    with torch.no_grad():
        converted.fc1.weight.zero_()
        converted.bn.running_mean.fill_(9)
    assert model.fc1.weight.any()
    assert not model.bn.running_mean.any()
    assert converted.training


def test_new_weights_come_from_the_seed():
    model, state = Small(), torch.get_rng_state()
    weights = [mfsim.convert(model, ALL, seed=seed).model.body[0].product.weight for seed in (3, 3, 4)]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_network_that_is_one_layer():
    conversion = mfsim.convert(nn.Linear(4, 2), [{"match": "*", "to": "mf"}], example=integers(1, 4))
    assert type(conversion.model) is MFLinear


def test_shared_modules_and_weights_stay_shared():
    conversion = mfsim.convert(Shared(), [{"match": "*", "to": "mf"}], example=integers(2, 4))
    converted = conversion.model
    assert converted.first is converted.again["inner"]
    assert converted.first.weight is converted.tied.weight
    assert [(c.layer, c.also_at) for c in conversion.changes] == [("first", ("again.inner",)), ("tied", ())]
    assert conversion.parameters_before == conversion.parameters_after == 24
    assert "weight, bias; also at again.inner" in conversion.text()


def test_the_text_has_all_that_json_has():
    conversion = mfsim.convert(Small(), ALL)
    content = json.loads(json.dumps(conversion.to_json()))
    text = conversion.text()
    for entry in (*content["changes"], *content["left"]):
        assert f"\n{entry['layer']} " in text
    assert content["changes"][2]["kept"] == []
    assert content["changes"][2]["note"] in text
    assert text.endswith("5 layers converted, 4 left; 432 parameters before, 440 after")
    assert not any(line != line.rstrip() for line in text.splitlines())


def refused(kind, model, rules, sentence, **options):
    with pytest.raises(kind) as error:
        mfsim.convert(model, rules, **options)
    assert str(error.value) == sentence


def test_a_rule_that_matches_nothing():
    refused(
        ConversionError,
        Small(),
        [{"match": "body0", "to": "mf"}],
        "the rule `body0` matches no module of the network; did you mean `body.0`?",
    )
    refused(
        ConversionError,
        Small(),
        [{"match": "?", "to": "mf"}],
        "the rule `?` matches no module of the network; it has "
        "`stem`, `bn`, `relu`, `body`, `body.0`, `body.1`, `body.2`, `fc1`",
    )


def test_a_rule_about_nothing_that_it_matches():
    refused(
        ConversionError,
        Small(),
        [{"match": "body.1", "to": "mf"}],
        "the rule `body.1` (to mf) is about linear layers and convolutions, and matches only `body.1` (BatchNorm2d)",
    )
    refused(
        ConversionError,
        Small(),
        [{"match": "stem", "to": "shift"}],
        "the rule `stem` (to shift) is about batch norms, and matches only `stem` (Conv2d)",
    )


def test_rules_that_disagree_about_one_module():
    refused(
        ConversionError,
        Shared(),
        [{"match": "*", "to": "mf"}, {"match": "again", "to": "keep"}],
        "`first` and `again.inner` are one module, for which the rules must say the same; write a rule that matches both",
    )


def test_a_layer_that_cannot_is_named():
    refused(
        UnsupportedOpError,
        nn.Sequential(nn.Linear(4, 2), nn.ConvTranspose2d(2, 2, 3)),
        [{"match": "*", "to": "mf"}],
        "layer `1` (ConvTranspose2d) cannot become mf, as the rule `*` asks: only Linear and Conv2d themselves can",
    )


def test_layers_whose_weights_torch_reads_itself():
    """In eval mode torch's encoder layer hands the weights of its linear layers to one fused dense function."""
    refused(
        UnsupportedOpError,
        nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16)),
        [{"match": "*.linear1", "to": "mf"}],
        "layer `0.linear1` (Linear) cannot become mf, as the rule `*.linear1` asks: "
        "`0` (TransformerEncoderLayer) reads its weights without calling it",
    )


def test_the_example_finds_layers_that_are_not_called():
    rules = [{"match": "fc", "to": "mf"}]
    assert mfsim.convert(Reader(), rules).changes
    refused(
        ModelError,
        Reader(),
        rules,
        "the converted layer `fc` is not called, so its weights are read elsewhere or not at all; "
        'keep it, with a rule `to` "keep"',
        example=integers(2, 4),
    )


def test_the_example_finds_sequences_in_front_of_a_batch_norm():
    """[N, C, L] with C = L suits both axes, so only the example can tell."""
    refused(
        ModelError,
        nn.Sequential(nn.BatchNorm1d(4)),
        [{"match": "0", "to": "shift"}],
        '`0` normalises axis 1 of 3 axes, which ShiftBatchNorm1d cannot; keep it, with a rule `to` "keep"',
        example=integers(2, 4, 4),
    )


def test_an_example_that_does_not_suit():
    with pytest.raises(ModelError, match=r"^the converted model cannot run on an input of shape \(2, 5\): "):
        mfsim.convert(nn.Sequential(nn.Linear(4, 2)), [{"match": "*", "to": "mf"}], example=integers(2, 5))
