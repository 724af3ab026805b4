"""AdderNet, min-type and power-of-two networks on every test image of digits: every form gives the same codes."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

from mfsim import data
from mfsim.analysis import strict_multiplication_free
from mfsim.compiler import compile_model
from mfsim.export.check import check
from mfsim.export.edit import open_model
from mfsim.export.exporter import float_model, quantized_model
from mfsim.nn import models
from mfsim.quant import Recipe, fold, quantize
from mfsim.serialize.write import integer_model
from mfsim.simulate import quantize_input, simulate
from mfsim.train import fit
from tests.bits import assert_bit_equal
from tests.serialize.running import run

OPS = {
    "adder-cnn": {"adder_conv2d", "adder_matmul"},
    "min-cnn": {"min_conv2d", "min_matmul"},
    "shift-cnn": {"shift_conv2d", "shift_matmul"},
}


@functools.cache
def trained(name):
    """Return the folded network after two epochs on digits, its file, and the images."""
    digits = data.load("digits")
    model = models.create(name, digits.input_shape, digits.classes, seed=0, width=4)
    fit(model, digits.train, digits.validation, epochs=2, learning_rate=0.02)
    images = torch.from_numpy(digits.train.images[:256])
    folded = fold(model, images[:2])
    return folded, float_model(folded, images), images, torch.from_numpy(digits.test.images)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("bits", [8, 4])
def test_every_code_of_every_test_image(name, bits):
    folded, floats, images, tests = trained(name)
    recipe = {"weight": bits, "activation": bits, "per_channel": name == "shift-cnn" and bits == 4}
    network = quantize(folded, Recipe.from_dict(recipe), images)
    file = quantized_model(network, images)
    report = check(folded, network, floats, file, tests)
    assert report.passed, report.reasons
    for parity in report.codes:
        assert (parity.compared, parity.mismatches) == (len(tests) * 10, 0)
    program = compile_model(file)
    assert OPS[name] <= {node.op for node in program.nodes}
    strict_multiplication_free(program)
    (entry,), (result,) = program.inputs, program.outputs
    codes = quantize_input(program, tests.numpy())
    simulated = simulate(program, {entry: codes}).outputs[result]
    with torch.no_grad():
        expected = network(tests).double().numpy() / 2.0 ** program.tensors[result].scale.exponent
    assert_bit_equal(simulated, expected.astype(np.int64), result)
    assert_bit_equal(run(integer_model(program), {entry: codes})[result], simulated, "integer.onnx")


@pytest.mark.parametrize("name", OPS)
def test_an_edited_file_is_the_one_of_a_network_quantized_afresh(name):
    folded, _, images, _ = trained(name)
    opened = open_model(quantized_model(quantize(folded, Recipe(), images), images))
    recipe = Recipe.from_dict({"weight": 3, "activation": 5, "layers": {"conv2": {"weight": 6}}})
    opened.set_formats(recipe)
    fresh = quantized_model(quantize(folded, recipe, images), images)
    assert opened.model().SerializeToString(deterministic=True) == fresh.SerializeToString(deterministic=True)


def test_weights_of_the_file_are_powers_of_two_and_stay_so_under_a_coarser_word():
    folded, _, images, _ = trained("shift-cnn")
    network = quantize(folded, Recipe.from_dict({"weight": 8}), images)
    weights = {t.name: t for t in quantized_model(network, images).graph.initializer if t.name.endswith("conv2.weight")}
    (values,) = (np.frombuffer(t.raw_data, dtype=np.float32) for t in weights.values())
    assert (np.frexp(values)[0][values != 0] ** 2 == 0.25).all()
    coarse = quantize(folded, Recipe.from_dict({"weight": 3}), images)
    program = compile_model(quantized_model(coarse, images))
    (node,) = (n for n in program.nodes if n.layer == "conv2" and n.op == "shift_conv2d")
    found = set(program.tensors[node.inputs[1]].codes.reshape(-1).tolist())
    assert found <= {-2, -1, 0, 1, 2}
    assert len(found) > 2
