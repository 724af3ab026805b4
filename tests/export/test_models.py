"""The built-in networks on every test image of digits: files and torch models agree, code by code."""

from __future__ import annotations

import functools

import pytest
import torch

from mfsim import data
from mfsim.export.check import check
from mfsim.export.exporter import float_model, quantized_model
from mfsim.nn import models
from mfsim.quant import Recipe, fold, quantize
from mfsim.train import fit

RECIPES = {"w8a8": {}, "w4a4-channel": {"weight": 4, "activation": 4, "per_channel": True}}
"""The other combinations: tests/export/test_exporter.py, on smaller networks."""


@functools.cache
def trained(name):
    """Return the folded network after two epochs on digits, its file, and the images."""
    digits = data.load("digits")
    model = models.create(name, digits.input_shape, digits.classes, seed=0)
    fit(model, digits.train, digits.validation, epochs=2)
    images = torch.from_numpy(digits.train.images[:256])
    folded = fold(model, images[:2])
    return folded, float_model(folded, images), images, torch.from_numpy(digits.test.images)


@pytest.mark.parametrize("name", ["mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_code_of_every_test_image(name, recipe):
    folded, floats, images, tests = trained(name)
    network = quantize(folded, Recipe.from_dict(RECIPES[recipe]), images)
    report = check(folded, network, floats, quantized_model(network, images), tests)
    assert report.passed, report.reasons
    for parity in report.codes:
        assert (parity.compared, parity.mismatches) == (len(tests) * 10, 0)
    assert {layer.name for layer in report.layers} >= {"relu1", "head", "flatten"} & set(dict(folded.named_modules()))
