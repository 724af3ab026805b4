"""Quantized token networks: words and grids of each layer, one rounding between two layers, training, storage."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mfsim.errors import RecipeError
from mfsim.nn import Affine, Rope, TokenEmbedding, TriangularLinear
from mfsim.ops.lookup.quant import QuantTable
from mfsim.quant import Recipe, load, quantize, save
from mfsim.quant.nonlinear_base import QuantNonlinear
from mfsim.quant.pairs import QuantPair
from mfsim.quant.quantizers import ActivationQuant, plain
from tests.quant.token_networks import Tokens, images, quantized, small_vit


@pytest.fixture(scope="module", params=[False, True], ids=["dense", "mf"])
def network(request):
    """Return a quantized network of dense or of MF products of activations."""
    return quantized(Tokens(mf=request.param))


def results(network, kind):
    """Return what each layer of `kind` gives, by its path, on images."""
    seen = {}
    layers = {path: layer for path, layer in network.model.named_modules() if isinstance(layer, kind)}
    hooks = [
        layer.register_forward_hook(lambda module, inputs, y, path=path: seen.update({path: y.detach()}))
        for path, layer in layers.items()
    ]
    with torch.no_grad():
        network(images(16, 5))
    for hook in hooks:
        hook.remove()
    return {path: (layers[path], seen[path]) for path in layers}


def test_words_of_every_layer(network):
    model = network.model
    assert [(model.get_submodule(p).a_quant.bits, model.get_submodule(p).b_quant.bits) for p in ("scores", "gate")] == [
        (8, 8)
    ] * 2
    assert (model.add1.a_quant.bits, model.add1.b_quant.bits, model.embed.input_quant.bits) == (16, 16, 16)
    for layer in (model.add1, model.add2):
        assert torch.equal(layer.a_quant.scale, layer.b_quant.scale)
        assert layer.a_quant.signed
        assert layer.b_quant.signed
    assert (model.act.input_quant.bits, model.weights.input_quant.bits, model.norm.input_quant.bits) == (8, 8, 8)


def test_recipes_reach_every_operand():
    layers = {"scores": {"activation": 5}, "add1": {"residual": 12}, "act": {"activation": 6}}
    model = quantized(Tokens(), {"residual": 10, "layers": layers}).model
    assert (model.scores.a_quant.bits, model.add1.a_quant.bits, model.add2.a_quant.bits) == (5, 12, 10)
    assert (model.embed.input_quant.bits, len(model.act.table)) == (10, 64)


def test_a_nonlinear_result_lies_on_the_grid_of_what_reads_it_and_is_not_rounded_again(network):
    model = network.model
    readers = {"norm": [model.project.input_quant], "weights": [model.mix.a_quant], "act": [model.down.input_quant]}
    for path, (layer, y) in results(network, QuantNonlinear).items():
        assert torch.equal(y / layer.y_scale, torch.round(y / layer.y_scale))
        for reader in readers[path]:
            assert torch.equal(layer.y_scale, reader.scale)
            lo = -(2 ** (reader.bits - 1)) if reader.signed else 0
            hi = 2 ** (reader.bits - int(reader.signed)) - 1
            assert torch.equal(reader(y), (y / reader.scale).clamp(lo, hi) * reader.scale)


class Readers(nn.Module):
    """A table whose result two layers read, one of them behind moved data, and one whose result none reads."""

    def __init__(self):
        super().__init__()
        self.act, self.left, self.right, self.last = nn.Tanh(), nn.Linear(6, 3), nn.Linear(4, 3), nn.Tanh()

    def forward(self, x):
        y = self.act(x)
        return self.last(self.left(y)[:, :3] + self.right(y.transpose(1, 2))[:, :3]) + 1


def test_the_finest_reader_decides_and_without_one_calibration_does():
    model = Readers()
    with torch.no_grad():
        model.left.weight.mul_(8)
    recipe = Recipe.from_dict({"layers": {"right": {"activation": 12}}})
    made = quantize(model, recipe, torch.randn(64, 4, 6)).model
    assert made.right.input_quant.scale < made.left.input_quant.scale
    assert torch.equal(made.act.y_scale, made.right.input_quant.scale)
    assert float(made.last.y_scale) == 2.0**-7  # eight bits for values in -1..1


def test_a_table_holds_the_nearest_codes_of_its_function():
    layer = QuantTable(nn.GELU(), 8, True)
    layer.input_quant.scale.fill_(2.0**-4)
    layer.y_scale.fill_(2.0**-5)
    x = torch.arange(-128, 128) / 16
    smooth = nn.functional.gelu(x)
    assert torch.allclose(layer(x), smooth)  # before it has a table: the function
    layer.derive()
    assert float((layer(x) - smooth).abs().max()) <= 2.0**-6 * 1.0001  # half a step, and float32 of the function
    x.requires_grad_(True)
    layer(x).sum().backward()
    y = x.detach().clone().requires_grad_(True)
    nn.functional.gelu(y).sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_the_constant_of_an_embedding_lies_on_the_grid_of_the_tokens():
    torch.manual_seed(0)
    float_layer = TokenEmbedding(3, 4)
    layer = quantize(nn.Sequential(float_layer), Recipe.from_dict({"residual": 9}), torch.randn(32, 3, 4)).model[0]
    constant = plain(layer.bias_quant(layer.bias)) / layer.input_quant.scale
    assert torch.equal(constant, constant.round())
    x = torch.randn(5, 3, 4)
    step = float(layer.input_quant.scale)
    with torch.no_grad():
        worst = float((layer(x.clamp(-1, 1)) - float_layer(x.clamp(-1, 1))).abs().max())
    assert worst <= step  # two roundings of half a step


@pytest.mark.parametrize("layer", [TriangularLinear(6), Affine(6), Affine(6, "power-of-two", 0.3), Rope(6, 5)])
def test_layers_with_weights_made_of_something_else_are_near_their_float_form(layer):
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter) / 2)
    x = torch.randn(64, 5, 6)
    recipe = Recipe.from_dict({"weight": 12, "activation": 12, "output": 20})
    network = quantize(nn.Sequential(layer), recipe, x)
    with torch.no_grad():
        worst = float((network(x) - layer(x)).abs().max())
    assert worst <= 0.02  # words of twelve bits for values of about 4


def test_training_keeps_a_triangle_and_moves_what_is_learned():
    torch.manual_seed(0)
    network = quantize(nn.Sequential(TriangularLinear(6), Affine(6)), Recipe(), torch.randn(64, 6))
    before = copy.deepcopy(network.state_dict())
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    network(torch.randn(64, 6)).square().sum().backward()
    optimiser.step()
    weight = network.model[0].used_weight()
    assert not weight.tril(-1).any()
    assert not torch.equal(weight, before["model.0.weight"])
    assert not torch.equal(network.model[1].weight, before["model.1.weight"])


def test_every_parameter_of_a_token_network_gets_a_gradient(network):
    trained = copy.deepcopy(network).train()
    trained(images(16, 5)).square().sum().backward()
    without = [n for n, p in trained.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.any())]
    assert not without


@pytest.mark.parametrize("make", [Tokens, lambda: Tokens(mf=True), lambda: small_vit(attention="hadamard-o-pow2")])
def test_a_loaded_network_gives_the_same_codes(make, tmp_path):
    network = quantized(make(), {"weight": 5})
    path = save(network, tmp_path / "quantized.safetensors")
    loaded = load(path, make())
    assert torch.equal(loaded(images(20, 9)), network(images(20, 9)))
    assert save(loaded, tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_quantizers_of_a_pair_are_signed_where_their_operand_is(network):
    pairs = [layer for layer in network.modules() if isinstance(layer, QuantPair)]
    assert len(pairs) == 5
    assert [network.model.mix.a_quant.signed, network.model.mix.b_quant.signed] == [
        network.model.mix.__class__.__name__ == "QuantMFMatMul",
        True,
    ]
    assert all(isinstance(layer.a_quant, ActivationQuant) for layer in pairs)


def test_a_table_of_too_wide_an_input_is_refused():
    with pytest.raises(RecipeError) as error:
        quantized(Tokens(), {"layers": {"act": {"activation": 17}}})
    assert str(error.value) == "`activation` of a table must be at most 16 bits, not 17"
