"""Quantization-aware training: scales stay, the network does not get worse, gradients reach everything."""

from __future__ import annotations

import pytest
import torch

from mfsim import data
from mfsim.errors import RecipeError
from mfsim.quant import Recipe, finetune, fold, quantize
from mfsim.quant.quantizers import ActivationQuant
from mfsim.train import accuracy, fit
from tests.quant.networks import NETWORKS, images, settled


def scales(network):
    return {
        name: tensor.clone() for name, tensor in network.state_dict().items() if name.endswith("scaling_impl.scale")
    }


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_training_with_four_bits_helps_and_moves_no_scale(digits):
    torch.manual_seed(0)
    model = NETWORKS["mf-mlp"]()
    model.append(torch.nn.Identity())
    model[4] = type(model[4])(16, 10)
    fit(model, digits.train, digits.validation, epochs=4)
    few = torch.from_numpy(digits.train.images[:128])
    network = quantize(fold(model, few[:2]), Recipe.from_dict({"weight": 3, "activation": 3}), few)
    before, start = scales(network), accuracy(network, digits.validation)
    history = finetune(network, digits.train, digits.validation, epochs=3, learning_rate=0.003)
    assert before.keys() == scales(network).keys()
    assert all(torch.equal(before[name], scale) for name, scale in scales(network).items())
    assert accuracy(network, digits.validation) == max(start, history.best.validation_accuracy)
    assert accuracy(network, digits.validation) > start
    assert not network.training


def test_a_network_that_training_spoils_is_left_as_it_was(digits):
    few = torch.from_numpy(digits.train.images[:64])
    torch.manual_seed(0)
    model = NETWORKS["mf-mlp"]()
    model[4] = type(model[4])(16, 10)
    fit(model, digits.train, digits.validation, epochs=4)
    network = quantize(fold(model, few[:2]), Recipe(), few)
    outputs = network(few)
    finetune(network, digits.train.first(64), digits.validation, epochs=1, learning_rate=50.0)
    assert torch.equal(network(few), outputs)


def test_gradients_pass_rounding_and_reach_every_parameter():
    network = quantize(fold(settled(NETWORKS["wht-cnn"]()), images(2)), Recipe(), images()).train()
    network(images()).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_saturated_activations_pass_no_gradient_and_rounded_ones_all_of_it():
    quantizer = ActivationQuant(4, True, 0.5)
    x = torch.tensor([0.3, -1.2, 3.4, 9.0, -9.0], requires_grad=True)
    quantizer(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_a_bias_that_grows_out_of_its_word_is_named(digits):
    few = torch.from_numpy(digits.train.images[:64])
    model = NETWORKS["mf-mlp"]()
    model[4] = type(model[4])(16, 10)
    network = quantize(fold(settled(model), few[:2]), Recipe.from_dict({"bias": 16}), few)
    with torch.no_grad():
        network.model[4].bias.add_(1e6)
    with pytest.raises(
        RecipeError, match=r"^the bias of layer `4` needs [0-9]+ bits on its grid, and its word has 16$"
    ):
        finetune(network, digits.train.first(64), digits.validation, epochs=1, learning_rate=1e-6)
