"""Opened files: whatever formats are set, the file is the one that a freshly quantized network exports."""

from __future__ import annotations

import functools
import random

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from mfsim.compiler import compile_model
from mfsim.data.dataset import Split
from mfsim.errors import ExportError, ModelError, RecipeError
from mfsim.export import open_model, run, session
from mfsim.export.exporter import quantized_model
from mfsim.nn import DCT, Add, DFTMagnitude, Gram, LayerNorm, MFLinear, MFMatMul, RMSNorm, ShiftNorm, Softmax, models
from mfsim.quant import Recipe, finetune, fold, load, quantize, save
from mfsim.quant.calibrate import keep_trained
from mfsim.quant.layers import QuantProduct
from mfsim.simulate import quantize_input, simulate
from tests.quant.networks import MFResidual, images, settled

RECIPES = {
    "other words": {"weight": 3, "activation": 5, "output": 11, "bias": 24},
    "by channel": {"per_channel": True, "weight": 4, "activation": 7, "calibration": "max"},
    "accumulators": {"accumulator": 11, "per_channel": True},
    "wrapping": {"accumulator": 12, "overflow": "wrap", "activation": 6, "calibration": "percentile"},
    "by layer": {"weight": 7, "layers": {"*": {"activation": 9}, "head": {"weight": 2, "accumulator": 14}}},
    "entrance": {"input": 5, "threshold": 14},
}
NAMES = ("mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn")


@functools.cache
def folded(name):
    """Return a built-in network with weights as a short training may leave them, folded."""
    torch.manual_seed(3)
    return fold(settled(models.create(name, (1, 8, 8), 10, seed=2)), images(2))


@functools.cache
def exported(name, recipe=None):
    """Return the quantized network of a recipe, and its file."""
    network = quantize(folded(name), Recipe.from_dict(RECIPES.get(recipe, {})), images(64))
    return network, quantized_model(network, images(1), allow_inexact=True)


def whole(model):
    return model.SerializeToString(deterministic=True)


def codes(network, model, program, inputs):
    """Return the output codes of torch, ONNX Runtime and the simulator."""
    scale = 2.0 ** program.tensors[program.outputs[0]].scale.exponents[0]
    in_torch = network(inputs).detach().numpy() / scale
    in_runtime = run(session(model), inputs.numpy())["output"] / scale
    simulated = simulate(program, quantize_input(program, inputs.numpy())).outputs
    return in_torch, in_runtime, next(iter(simulated.values()))


@pytest.mark.parametrize("name", NAMES)
def test_an_edited_file_is_that_of_a_freshly_quantized_network(name):
    opened = open_model(exported(name)[1])
    for recipe, content in RECIPES.items():
        opened.set_formats(Recipe.from_dict(content))
        network, fresh = exported(name, recipe)
        assert whole(opened.model()) == whole(fresh), recipe
        assert opened.program().digest() == compile_model(fresh).digest(), recipe
        in_torch, in_runtime, simulated = codes(network, opened.model(), opened.program(), images(40, 8))
        assert np.array_equal(in_torch, simulated), recipe
        assert np.array_equal(in_runtime, simulated), recipe
    opened.set_formats(Recipe())
    assert whole(opened.model()) == whole(exported(name)[1])


@pytest.mark.parametrize("start", ["by channel", "accumulators", "entrance"])
def test_any_file_leads_to_any_other_one_and_has_the_same_digest(start):
    opened = open_model(exported("wht-cnn", start)[1])
    assert opened.digest == open_model(exported("wht-cnn")[1]).digest
    assert opened.recipe == Recipe.from_dict(RECIPES[start])
    opened.set_formats(Recipe.from_dict(RECIPES["by layer"]))
    assert whole(opened.model()) == whole(exported("wht-cnn", "by layer")[1])


def test_the_digest_knows_weights_and_statistics():
    model = folded("mf-mlp")
    digests = {open_model(exported("mf-mlp")[1]).digest}
    digests.add(open_model(quantized_model(quantize(model, Recipe(), images(32, 5)), images(1))).digest)
    with torch.no_grad():
        moved = quantize(model, Recipe(), images(64))
        next(moved.parameters()).mul_(1.001)
    digests.add(open_model(quantized_model(moved, images(1))).digest)
    assert len(digests) == 3


class Attention(nn.Module):
    """Every kind of layer whose tables and other constants follow from scales."""

    def __init__(self):
        super().__init__()
        self.norm, self.query, self.key = LayerNorm(16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.scores, self.weights, self.values = MFMatMul(transpose_b=True), Softmax(), MFMatMul()
        self.act, self.add, self.second = nn.GELU(), Add(), RMSNorm(16, form="reciprocal")
        self.third, self.head = ShiftNorm(16), nn.Linear(16, 5)

    def forward(self, x):
        x = self.norm(x)
        y = self.values(self.weights(self.scores(self.query(x), self.key(x))), x)
        return self.head(self.third(self.second(self.add(x, self.act(y)))))


class Transforms(nn.Module):
    """Fixed-point transforms and symmetric scores."""

    def __init__(self):
        super().__init__()
        self.fast, self.digits, self.bins = DCT(16, "fast"), DCT(16, "csd"), DFTMagnitude(16)
        self.estimates, self.scores, self.head = DFTMagnitude(16, "csd"), Gram(), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.scores(self.estimates(self.bins(self.digits(self.fast(x))))))


@pytest.mark.parametrize("network", [Attention, Transforms])
def test_tables_and_other_derived_constants_follow(network):
    torch.manual_seed(0)
    model, tokens = network().eval(), torch.randn(40, 8, 16)
    contents = (
        {},
        {"activation": 6, "weight": 5},
        {"activation": 9, "residual": 12, "calibration": "max", "input": 12},
    )
    networks = [quantize(model, Recipe.from_dict(content), tokens) for content in contents]
    files = [quantized_model(network, tokens[:1], allow_inexact=True) for network in networks]
    assert len({open_model(file).digest for file in files}) == 1
    for file in files:
        opened = open_model(file)
        for content, network, fresh in zip(contents, networks, files, strict=True):
            opened.set_formats(Recipe.from_dict(content))
            assert whole(opened.model()) == whole(fresh), content
            in_torch, _, simulated = codes(network, opened.model(), opened.program(), tokens[:8])
            assert np.array_equal(in_torch, simulated), content


def test_residual_quantizers_must_stay_named():
    torch.manual_seed(0)
    model = fold(settled(MFResidual()), images(2))
    opened = open_model(quantized_model(quantize(model, Recipe.from_dict(MFResidual.recipe), images()), images(1)))
    opened.set_formats(Recipe.from_dict({"weight": 5, "layers": {"first": {"activation": 6}, "second": {}}}))
    assert whole(opened.model()) == whole(quantized_model(quantize(model, opened.recipe, images()), images(1)))
    with pytest.raises(RecipeError, match=r"^the recipe must name layer `second`: the file has a quantizer behind it$"):
        opened.set_formats(Recipe.from_dict({"layers": {"first": {}}}))


class Twice(nn.Module):
    """A layer that runs twice has two nodes of everything."""

    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 64)

    def forward(self, x):
        return self.layer(torch.relu(self.layer(x.flatten(1))))


def test_a_layer_that_runs_twice():
    torch.manual_seed(0)
    model = Twice().eval()
    files = [
        quantized_model(quantize(model, Recipe.from_dict(content), images()), images(1), allow_inexact=True)
        for content in ({}, {"weight": 4, "per_channel": True, "accumulator": 13})
    ]
    opened = open_model(files[0])
    opened.set_formats(open_model(files[1]).recipe)
    assert opened.program().digest() == compile_model(opened.model()).digest()
    found, wanted = (run(session(model), images(20, 3).numpy())["output"] for model in (opened.model(), files[1]))
    assert np.array_equal(found, wanted)


def test_a_trained_network_keeps_the_scales_that_it_was_trained_with():
    network = quantize(folded("mf-mlp"), Recipe.from_dict({"weight": 3}), images(64))
    with torch.no_grad():
        for layer in (module for module in network.modules() if isinstance(module, QuantProduct)):
            layer.weight.mul_(3)  # as a long training may; on their own they would get coarser scales
    keep_trained(network)
    model = quantized_model(network, images(1))
    opened = open_model(model)
    opened.set_formats(Recipe.from_dict({"weight": 5}))
    assert whole(opened.model()) != whole(model)
    opened.set_formats(Recipe.from_dict({"weight": 3}))
    assert whole(opened.model()) == whole(model)


def test_training_keeps_the_scales_of_the_weights():
    split = Split(images(64, 3).numpy(), np.arange(64) % 10)
    network = quantize(folded("mf-mlp"), Recipe(), images(64))
    assert not any("trained" in subject.facts for subject in network.calibration.subjects)
    finetune(network, split, split, epochs=1, learning_rate=1e-6)
    layers = {subject.path: subject.facts["trained"] for subject in network.calibration.subjects}
    for path, trained in layers.items():
        scale = network.model.get_submodule(path).weight_scale
        assert trained == {"words": [8, False, "mse"], "exponents": round(float(torch.log2(scale)))}


def test_a_saved_network_exports_its_calibration(tmp_path):
    network, model = exported("mf-mlp", "by layer")
    path = save(network, tmp_path / "quantized.safetensors")
    loaded = load(path, models.create("mf-mlp", (1, 8, 8), 10, seed=1))
    assert whole(quantized_model(loaded, images(1), allow_inexact=True)) == whole(model)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"layers": {"haed": {"weight": 4}}}, "`layers.haed` matches no layer of the network; did you mean `head`?"),
        ({"threshold": 2}, None),
        ({"bias": 2}, None),
    ],
)
def test_a_recipe_that_does_not_fit_changes_nothing_and_is_the_error_of_quantize(content, message):
    opened = open_model(exported("wht-cnn", "by channel")[1])
    before = whole(opened.model()), opened.recipe, opened.program().digest()
    with pytest.raises(RecipeError) as error:
        opened.set_formats(Recipe.from_dict(content))
    with pytest.raises(RecipeError) as expected:
        quantize(folded("wht-cnn"), Recipe.from_dict(content), images(64))
    assert str(error.value) == str(expected.value)
    assert message in (None, str(error.value))
    assert before == (whole(opened.model()), opened.recipe, opened.program().digest())


def test_files_without_a_calibration(tmp_path):
    _, model = exported("mf-mlp")
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.metadata_props[:]
    path = tmp_path / "old.onnx"
    path.write_bytes(whole(bare))
    with pytest.raises(ModelError) as error:
        open_model(path)
    reason = "holds no calibration, so its formats cannot be set; quantize and export it again"
    assert str(error.value) == f"`{path}` {reason}"
    with pytest.raises(ModelError, match=rf"^the model {reason}$"):
        open_model(bare)


def test_save_is_whole_and_refuses_what_float32_may_get_wrong(tmp_path):
    opened = open_model(exported("dense-cnn")[1])
    path = opened.save(tmp_path / "model.onnx")
    assert path.read_bytes() == whole(exported("dense-cnn")[1])
    opened.set_formats(Recipe.from_dict({"weight": 16, "activation": 16}))
    with pytest.raises(ExportError, match=r"^node `.*` has sums of [0-9]+ bits, and float32 is exact up to 25; "):
        opened.save(path)
    assert path.read_bytes() == whole(exported("dense-cnn")[1])
    opened.save(path, allow_inexact=True)
    assert open_model(path).recipe.defaults.weight == 16
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_edits_back_and_forth_leave_nothing_behind():
    opened, rng = open_model(exported("wht-cnn")[1]), random.Random(4)
    choices = {"weight": (3, 8), "activation": (5, 8), "accumulator": ("proved", 12), "per_channel": (True, False)}
    digests = set()
    for _ in range(16):
        layers = {
            path: {key: rng.choice(choices[key]) for key in keys if key in choices and rng.random() < 0.3}
            for path, keys in opened.keys.items()
            if rng.random() < 0.4
        }
        recipe = Recipe.from_dict({"layers": layers})
        opened.set_formats(recipe)
        digests.add(opened.program().digest())
        assert opened.program().digest() == compile_model(opened.model()).digest()
        if rng.random() < 0.25:
            with pytest.raises(RecipeError):
                opened.set_formats(Recipe.from_dict({"bias": 2}))
            other = open_model(exported("wht-cnn", "by channel")[1])
            other.set_formats(recipe)
            assert whole(opened.model()) == whole(other.model())
            assert opened.program().digest() == other.program().digest()
    assert len(digests) > 12
