"""Quantized networks: the words of the recipe at every place, exact codes, refusals by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.errors import DataError, ModelError, RecipeError, UnsupportedOpError
from mfsim.nn import WHT, MFLinear, SoftThreshold
from mfsim.ops.elementwise.quant import QuantSoftThreshold
from mfsim.ops.wht.quant import QuantWHT
from mfsim.quant import Recipe, fold, quantize
from mfsim.quant.layers import QuantMFConv2d, QuantMFLinear, QuantProduct
from mfsim.quant.quantizers import ActivationQuant, plain
from tests.quant.networks import NETWORKS, images, settled


def quantized(name="wht-cnn", recipe=None, model=None):
    model = model or NETWORKS[name]()
    return quantize(fold(settled(model), images(2)), Recipe.from_dict(recipe or {}), images())


def is_power_of_two(scale):
    return bool((torch.frexp(scale)[0] == 0.5).all())


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("recipe", [{}, {"per_channel": True, "weight": 4, "activation": 5, "output": 9}])
def test_every_layer_has_its_words(name, recipe):
    network = quantized(name, recipe)
    products = [m for m in network.modules() if isinstance(m, QuantProduct)]
    assert products
    for layer in products:
        assert layer.words.weight == recipe.get("weight", 8)
        assert layer.input_quant.bits == recipe.get("activation", 8)
        weight = plain(layer.weight_quant(layer.weight)).detach()
        codes = weight / layer.weight_scale
        most = 2 ** (layer.words.weight - 1) - 1
        assert torch.equal(codes, codes.round())
        assert float(codes.abs().max()) <= most
        assert layer.weight_scale.numel() == (len(layer.weight) if recipe.get("per_channel") else 1)
        bias = plain(layer.bias_quant(layer.bias)) / layer.accumulator_scale()
        assert torch.equal(bias, bias.round())
    for quantizer in (m for m in network.modules() if isinstance(m, ActivationQuant)):
        assert is_power_of_two(quantizer.scale)
    outputs = network(images(5)) / network.output_quant[0].scale
    assert torch.equal(outputs, outputs.round())
    assert network.output_quant[0].bits == recipe.get("output", 16)


def test_inputs_that_are_never_negative_are_unsigned():
    network = quantized("mf-mlp").model
    assert [network[k].input_quant.signed for k in (1, 4)] == [False, False]
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2))
    signed = quantize(model, Recipe(), images() - 0.5)
    assert signed.model[1].input_quant.signed


def test_a_wht_layer_has_one_quantizer_at_its_entry_and_two_inside():
    layer = quantized().model[4]
    assert isinstance(layer.entry, ActivationQuant)
    assert type(layer.transform) is WHT
    assert isinstance(layer.threshold, QuantSoftThreshold)
    assert layer.threshold.input_quant is None
    assert isinstance(layer.product, QuantMFLinear)
    assert isinstance(layer.inverse, QuantWHT)
    # Eight values: the forward norm is 2**-1, and the transform adds 3 bits.
    assert float(layer.threshold.threshold_quant.scale) == float(layer.entry.scale) / 2
    assert layer.threshold.threshold_quant.bits == 11


def test_recipes_by_layer():
    recipe = {"layers": {"4": {"weight": 5}, "4.product": {"bias": 24}, "7": {"accumulator": 12, "overflow": "wrap"}}}
    network = quantized(recipe=recipe).model
    assert (network[4].product.words.weight, network[4].product.words.bias) == (5, 24)
    assert (network[7].words.accumulator, network[7].words.overflow) == (12, "wrap")
    with pytest.raises(RecipeError, match=r"^`layers.9` matches no layer of the network; it has `0`, "):
        quantized(recipe={"layers": {"9": {"weight": 5}}})


@pytest.mark.parametrize("overflow", ["saturate", "wrap"])
def test_a_fixed_accumulator_word_holds_every_sum(overflow):
    network = quantized("mf-mlp", {"layers": {"4": {"accumulator": 6, "overflow": overflow}}})
    seen = []
    network.model[4].register_forward_hook(lambda module, arguments, result: seen.append(result))
    network(images())
    codes = seen[0].detach() / network.model[4].accumulator_scale()
    assert torch.equal(codes, codes.round())
    assert (float(codes.min()), float(codes.max())) >= (-32.0, 0.0)
    assert float(codes.max()) <= 31.0
    free = quantized("mf-mlp")
    assert not torch.equal(free(images()), network(images()))


def test_biases_lie_on_the_grid_of_the_accumulator_even_where_it_is_finer_than_the_weights():
    layer = QuantMFConv2d
    network = quantized(recipe={"per_channel": True})
    mf = [m for m in network.modules() if isinstance(m, layer)]
    assert mf
    for module in mf:
        expected = torch.minimum(module.input_quant.scale, module.weight_scale.reshape(-1))
        assert torch.equal(module.accumulator_scale(), expected)


def test_a_soft_threshold_and_a_transform_of_their_own_have_input_quantizers():
    model = nn.Sequential(nn.Flatten(), WHT(), nn.ReLU(), SoftThreshold(64), MFLinear(64, 2))
    network = quantize(model, Recipe(), images()).model
    assert float(network[3].threshold_quant.scale) == float(network[3].input_quant.scale)
    assert isinstance(network[1], QuantWHT)


def test_a_channel_of_zero_weights_costs_no_accuracy_and_no_width():
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 3))
    with torch.no_grad():
        model[1].weight[1] = 0
    network = quantize(model, Recipe.from_dict({"per_channel": True}), images())
    assert float(network.model[1].weight_scale.min()) >= 2.0**-14


def refused(error, message, model, recipe=None, calibration=None):
    with pytest.raises(error) as caught:
        quantize(model, Recipe.from_dict(recipe or {}), images() if calibration is None else calibration)
    assert str(caught.value) == message


def test_layers_that_cannot_be_quantized_are_named():
    known = (
        "Linear, Conv2d, MFLinear, MFConv2d, AdderLinear, AdderConv2d, MinLinear, MinConv2d, ShiftLinear, ShiftConv2d, "
        "WHT, SoftThreshold, Hardtanh, ReLU6, Affine, DCT, Filterbank, Scaling, TriangularLinear, Embedding, Gram, Rope, "
        "TokenEmbedding, MatMul, MFMatMul, MFMul, Mul, Add, DFTMagnitude, GELU, SiLU, Tanh, LayerNorm, RMSNorm, ShiftNorm, Softmax, TanhL1, Identity, "
        "ReLU, MaxPool2d, Flatten, Unflatten, ZeroPad2d, Dropout, Dropout1d, Dropout2d, Abs, AvgPool2d, CsdGain, GlobalAvgPool2d, Shift"
    )
    for layer in (nn.Softplus(), nn.LSTM(8, 8), nn.PixelShuffle(2), nn.Conv2d(1, 1, 3, padding_mode="reflect")):
        model = nn.Sequential(nn.Flatten(), MFLinear(64, 2), layer)
        if isinstance(layer, nn.Conv2d):
            refused(
                UnsupportedOpError,
                "`padding_mode` of a quantized convolution must be zeros, not 'reflect'",
                nn.Sequential(layer),
            )
        else:
            kind = type(layer).__name__
            refused(
                UnsupportedOpError, f"layer `2` ({kind}) cannot be quantized; the layers that can are {known}", model
            )
    refused(
        UnsupportedOpError,
        "layer `1` (BatchNorm2d) must be folded before quantization; call fold first",
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)),
    )
    refused(UnsupportedOpError, "the network has no layer that could be quantized", nn.Sequential(nn.Flatten()))


def test_calibration_that_cannot_be_used():
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2))
    refused(
        DataError,
        "calibration needs equally many images for each input, at least one, not [0]",
        model,
        calibration=images(4)[:0],
    )
    refused(
        DataError,
        "the calibration images hold NaN or infinite values",
        model,
        calibration=np.full((2, 1, 8, 8), np.nan, dtype=np.float32),
    )
    with torch.no_grad():
        model[1].bias[0] = float("inf")
    refused(ModelError, "`1.bias` of the model holds NaN or infinite values", model)


def test_constants_that_do_not_fit_their_words():
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2))
    with torch.no_grad():
        model[1].bias[0] = 100.0
    with pytest.raises(
        RecipeError, match=r"^the bias of layer `1` needs [12][0-9] bits on its grid, and its word has 8$"
    ):
        quantize(model, Recipe.from_dict({"bias": 8}), images())
    model = nn.Sequential(nn.Flatten(), SoftThreshold(64, initial=0.5), MFLinear(64, 2))
    with pytest.raises(
        RecipeError, match=r"^a threshold of layer `1` needs [78] bits on its grid, and its word has 3$"
    ):
        quantize(model, Recipe.from_dict({"threshold": 3}), images())


@pytest.mark.parametrize(("grid", "amplitude"), [("shared", 16), ("split", 1e6)])
def test_weights_that_all_round_to_zero(grid, amplitude):
    # Their signs would be gone as well, and with them all that the layer takes from its input.
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2, grid=grid))
    with torch.no_grad():
        model[1].weight.clamp_(-0.125, 0.125)
    with pytest.raises(RecipeError, match=r"^the weights of layer `1` all round to 0 on the scale 2\^[0-9]+, "):
        quantize(model, Recipe.from_dict({"activation": 4}), images() * amplitude)
    with torch.no_grad():
        model[1].weight.zero_()
    quantize(model, Recipe(), images())


def test_an_entrance_quantizer_where_something_else_reads_the_input():
    assert len(quantized("residual").input_quant) == 1
    assert len(quantized("mf-mlp").input_quant) == 0
    forced = quantized("mf-mlp", {"input": 6})
    assert forced.input_quant[0].bits == 6
    pooled = quantize(nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 2)), Recipe(), images())
    assert pooled.input_quant[0].bits == 8


def test_a_layer_under_two_names_is_quantized_under_both():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = self.again = MFLinear(64, 64)
            self.parts = nn.Sequential(nn.ReLU(), self.first)
            self.act = self.parts[0]

        def forward(self, x):
            return self.first(self.act(self.parts(self.act(self.first(x.flatten(1))))))

    network = quantize(Twice().eval(), Recipe(), images())
    assert network.model.parts[1] is network.model.again is network.model.first
    assert type(network.model.first).__name__ == "QuantMFLinear"


def test_a_clip_brings_its_input_to_one_grid_that_holds_its_bounds():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU6(), nn.Hardtanh(-1.0, 1.0), nn.Flatten(), nn.Linear(144, 2))
    network = quantize(settled(model), Recipe.from_dict({"per_channel": True}), images() * 40).model
    assert not network[1].input_quant.signed
    assert float(network[1].input_quant.scale) == 2.0**-5
    assert (network[2].input_quant.signed, float(network[2].input_quant.scale)) == (False, 2.0**-7)


def test_a_layer_that_the_recipe_names_gets_a_quantizer_behind_it():
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2), nn.Identity(), nn.ReLU())
    network = quantize(settled(model), Recipe.from_dict({"layers": {"2": {"activation": 5}}}), images())
    assert isinstance(network.model[2], nn.Identity)
    assert network.model[2].result_quant.bits == 5
    assert not hasattr(network.model[3], "result_quant")
    values = network.model[:3](images()) / network.model[2].result_quant.scale
    assert torch.equal(values, values.round())
    assert float(values.detach().abs().max()) <= 16


def test_grids_other_than_split():
    shared = nn.Sequential(nn.Flatten(), MFLinear(64, 3, grid="shared"))
    layer = quantize(shared, Recipe(), images()).model[1]
    assert float(layer.input_quant.scale) == float(layer.weight_scale)
    for grid in ("shared", "aligned"):
        refused(
            RecipeError,
            f"`per_channel` of layer `1` must be false, because its product has the grid {grid}",
            nn.Sequential(nn.Flatten(), MFLinear(64, 3, grid=grid)),
            {"per_channel": True},
        )


@pytest.mark.parametrize("per_channel", [False, True])
def test_mf_weights_are_not_so_much_finer_than_their_input_that_sums_pass_float32(per_channel):
    # Small weights and large inputs: on a grid of the weights' own, sums of more than 25 bits were written to the file.
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 3))
    with torch.no_grad():
        model[1].weight.mul_(2.0**-4)
    layer = quantize(model, Recipe.from_dict({"per_channel": per_channel}), images() * 100).model[1]
    octaves = float(torch.log2(layer.input_quant.scale / layer.weight_scale.min()))
    assert octaves == 8.0
    assert 64 * (255 * 2**octaves + 127) <= 2**23
