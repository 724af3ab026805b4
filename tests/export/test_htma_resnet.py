"""ResNet-20 with Walsh-Hadamard layers: briefly trained on digits, one set of codes in every realisation."""

from __future__ import annotations

import pytest
import torch

from mfsim import data
from mfsim.analysis import strict_multiplication_free
from mfsim.errors import RecipeError
from mfsim.nn import models
from mfsim.quant import Recipe, fold, quantize
from mfsim.train import fit, refresh_statistics
from tests.quant.token_networks import assert_one_network


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_a_briefly_trained_network_goes_through_all_steps(digits):
    model = models.create("htma-resnet20", digits.input_shape, digits.classes, seed=0, width=8, blocks=1)
    fit(model, digits.train.first(256), digits.validation.first(64), epochs=2, learning_rate=0.02)
    calibration = torch.from_numpy(digits.train.images[:64])
    network = quantize(fold(model, calibration[:2]), Recipe(), calibration)
    program = assert_one_network(network, torch.from_numpy(digits.test.images[:40]), references=0)
    strict_multiplication_free(program)
    assert {"mf_conv2d", "mf_matmul", "wht", "soft_threshold", "add", "sum_pool2d"} <= {n.op for n in program.nodes}


def test_a_fresh_network_quantizes_once_its_norms_have_seen_images(digits):
    images = torch.from_numpy(digits.train.images[:128])
    model = models.create("htma-resnet20", digits.input_shape, digits.classes, seed=0)
    with torch.no_grad():
        model.train()(images[:32])
    with pytest.raises(RecipeError, match=r"^the weights of layer `stage\d_block\d\.\S+` all round to 0"):
        quantize(fold(model.eval(), images[:2]), Recipe(), images)
    refresh_statistics(model, images)
    quantize(fold(model, images[:2]), Recipe(), images)
