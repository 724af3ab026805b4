"""Mean pools: one over many sums gets a quantizer in front of it, any other one stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.compiler import compile_model
from mfsim.errors import ExportError
from mfsim.export import open_model, run, session
from mfsim.export.exporter import quantized_model
from mfsim.nn import Add, AvgPool2d, LayerNorm, models
from mfsim.nn.models.vit import TokenMean
from mfsim.quant import Recipe, fold, load, quantize, save
from mfsim.simulate import quantize_input, simulate


def images(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def folded(name, shape, **options):
    torch.manual_seed(0)
    model = models.create(name, shape, 10, seed=0, **options).train()
    with torch.no_grad():
        for _ in range(3):
            model(images(16, *shape))
    return fold(model.eval(), images(2, *shape)).eval()


def pools(network):
    """Return the kind of every site of a pool by its path."""
    return {site.path: site.kind for site in network.sites if "pool" in site.path}


@pytest.mark.parametrize("name", ["dense-cnn", "mf-cnn"])
def test_networks_for_images_of_32_x_32_go_all_the_way_by_the_default_recipe(name, tmp_path):
    """The last mean is over 64 sums, which took 28 bits and more of the 25 that float32 holds."""
    shape, model = (3, 32, 32), folded(name, (3, 32, 32), width=4)
    network = quantize(model, Recipe(), images(16, *shape))
    assert pools(network) == {"pool3": "QuantGlobalAvgPool2d"}
    file = quantized_model(network, images(2, *shape))  # refuses what float32 may get wrong
    program, x = compile_model(file), images(4, *shape)
    codes = simulate(program, quantize_input(program, x.numpy())).output
    scale = 2.0 ** program.tensors[program.outputs[0]].scale.exponents[0]
    assert np.array_equal(run(session(file), x.numpy())["output"] / scale, codes)
    assert np.array_equal(network(x).detach().numpy() / scale, codes)
    loaded = load(save(network, tmp_path / "quantized.safetensors"), models.create(name, shape, 10, width=4))
    assert torch.equal(loaded(x), network(x))

    named = Recipe.from_dict({"weight": 6, "layers": {"pool3": {"activation": 5}}})
    opened = open_model(file)
    opened.set_formats(named)
    fresh = quantized_model(quantize(model, named, images(16, *shape)), images(2, *shape))
    assert opened.model().SerializeToString(deterministic=True) == fresh.SerializeToString(deterministic=True)
    assert opened.program().tensors["pool3.input_quant"].format.bits == 5


@pytest.mark.parametrize("name", ["dense-cnn", "mf-cnn", "wht-cnn", "shift-cnn", "mf-vit"])
def test_networks_for_digits_sum_as_they_did(name):
    shape = (1, 8, 8)
    assert pools(quantize(folded(name, shape), Recipe(), images(8, *shape))) == {}


class Sums(nn.Module):
    """Sums of 9 products over 8 x 8 pixels, then `layers`, a mean and a linear layer."""

    def __init__(self, *layers, pool=(4, 8)):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.between = nn.Conv2d(1, 4, 3), nn.Sequential(*layers)
        self.pool = AvgPool2d(pool)
        self.head = nn.Linear(4 * 64 // (self.pool.kernel_size[0] * self.pool.kernel_size[1]), 3)

    def forward(self, x):
        return self.head(self.pool(self.joined(x, self.between(self.conv(x)))).flatten(1))

    def joined(self, x, y):
        return y


class Residual(Sums):
    """The mean of an addition."""

    def __init__(self, add):
        super().__init__()
        self.add = add

    def joined(self, x, y):
        return self.add(y, torch.relu(y))


class InPlace(Sums):
    """The mean of codes to which sums are added in place."""

    def joined(self, x, y):
        codes = x[:, :, 1:-1, 1:-1].expand(-1, 4, -1, -1).relu()
        codes += y
        return codes


def tokens(*layers):
    """Return the mean over 20 tokens of 8 features behind `layers`."""
    return nn.Sequential(nn.Flatten(2), nn.Linear(10, 8), *layers, TokenMean(), nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("model", "kinds"),
    [
        (Sums(), {"pool": "QuantAvgPool2d"}),
        (Sums(pool=4), {}),
        (Sums(nn.ReLU(), nn.MaxPool2d(1), nn.Dropout(0.5)), {"pool": "QuantAvgPool2d"}),
        (Sums(nn.ReLU6(), AvgPool2d(1)), {"pool": "QuantAvgPool2d"}),
        (Sums(nn.ReLU6(), nn.MaxPool2d(1), nn.ZeroPad2d(0), nn.Dropout(0.5)), {}),
        (Sums(nn.GELU(), nn.ReLU()), {}),
        (Residual(Add()), {}),
        (Residual(torch.add), {"pool": "QuantAvgPool2d"}),
        (InPlace(), {"pool": "QuantAvgPool2d"}),
        (tokens(), {"2.pool": "QuantGlobalAvgPool2d"}),
        (tokens(LayerNorm(8)), {}),
    ],
)
def test_only_means_of_many_values_that_are_no_codes_get_a_quantizer(model, kinds):
    x = images(4, 20, 1, 10) if isinstance(model, nn.Sequential) else images(4, 1, 10, 10)
    assert pools(quantize(model.eval(), Recipe(), x)) == kinds


def test_a_layer_in_front_that_the_recipe_names_serves_as_well():
    recipe = Recipe.from_dict({"layers": {"between.0": {"activation": 8}}})
    network = quantize(Sums(nn.ReLU()).eval(), recipe, images(4, 1, 10, 10))
    kinds = {site.path: site.kind for site in network.sites}
    assert kinds == {"conv": "QuantConv2d", "between.0": "Requantized", "head": "QuantLinear"}


@pytest.mark.parametrize(
    ("model", "recipe", "remedy"),
    [
        (
            Sums(nn.ReLU(), pool=4),
            {"weight": 13},
            "set `activation` for `layers.between.0` in the recipe, which puts a quantizer in front of the pool",
        ),
        (
            Sums(),
            {"layers": {"pool": {"activation": 21}}},
            "use fewer bits of `activation` for `layers.pool` in the recipe",
        ),
        (Sums(pool=4), {"weight": 13}, "use fewer bits in the recipe"),
    ],
)
def test_the_error_about_a_pool_says_which_key_helps(model, recipe, remedy):
    network = quantize(model.eval(), Recipe.from_dict(recipe), images(4, 1, 10, 10))
    with pytest.raises(ExportError) as error:
        quantized_model(network, images(2, 1, 10, 10))
    assert str(error.value).startswith("node `pool/SumPool` (sum_pool2d) of layer `pool` has sums of 2")
    assert str(error.value).endswith(f" bits, and float32 is exact up to 25; {remedy}, or allow an inexact file")
