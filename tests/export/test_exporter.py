"""Exported files: equal codes in ONNX Runtime, names, metadata, bytes, and what the files hold."""

from __future__ import annotations

import copy
import functools

import numpy as np
import onnx.inliner
import pytest
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

from mfsim.errors import ExportError, ModelError
from mfsim.export.exporter import export_float, export_quantized, float_model, quantized_model
from mfsim.export.runtime import run, session
from mfsim.nn import MFLinear
from mfsim.quant import Recipe, fold, quantize
from mfsim.quant.layers import QuantProduct
from mfsim.quant.quantizers import plain
from tests.quant.networks import NETWORKS, MFResidual, images, settled

RECIPES = {
    "w8a8": {},
    "w8a8-channel": {"per_channel": True},
    "w4a4": {"weight": 4, "activation": 4},
    "accumulator": {"layers": {"*": {"accumulator": 14, "overflow": "wrap"}}},
}


@functools.cache
def made(name, recipe="w8a8"):
    """Return the folded and the quantized network; shared by the tests, which do not change them."""
    folded = fold(settled(NETWORKS[name]()), images(2))
    return folded, quantize(folded, Recipe.from_dict(RECIPES[recipe]), images())


@functools.cache
def model_file(name, recipe="w8a8"):
    return quantized_model(made(name, recipe)[1], images(1))


@functools.cache
def float_file(name):
    return float_model(made(name)[0], images(1))


def quants(model):
    return [node for node in model.graph.node if node.op_type == "Quant"]


def arrays(model):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


@pytest.mark.parametrize(
    ("name", "recipe"),
    [(n, "w8a8") for n in NETWORKS]
    + [(n, r) for n in ("wht-cnn", "dense-cnn") for r in ("w8a8-channel", "w4a4", "accumulator")],
)
def test_a_quantized_file_gives_the_codes_of_torch(name, recipe):
    network, model = made(name, recipe)[1], model_file(name, recipe)
    wanted = network(images(50, 4)).detach().numpy()
    for optimise in (True, False):
        found = run(session(model, optimise), images(50, 4).numpy(), batch_size=16)["output"]
        assert np.array_equal(found, wanted), f"{np.count_nonzero(found != wanted)} of {wanted.size} differ"


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_residual_of_mf_layers(per_channel):
    recipe = Recipe.from_dict(MFResidual.recipe | {"per_channel": per_channel})
    network = quantize(fold(settled(MFResidual()), images(2)), recipe, images())
    model = quantized_model(network, images(2))
    assert {"first.result_quant", "second.result_quant"} <= {node.name for node in quants(model)}
    wanted = network(images(30, 4)).detach().numpy()
    for optimise in (True, False):
        assert np.array_equal(run(session(model, optimise), images(30, 4).numpy())["output"], wanted)


class TwoByTwo(nn.Module):
    """Two inputs, two outputs; the second input is read by two layers."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = MFLinear(8, 4), MFLinear(6, 4), nn.Linear(6, 2)

    def forward(self, left, right):
        return self.a(left) + self.b(right), self.c(right)


def test_several_inputs_and_outputs():
    left, right = torch.rand(20, 8), torch.rand(20, 6) - 0.5
    network = quantize(TwoByTwo(), Recipe(), (left, right))
    assert len(network.input_quant) == len(network.output_quant) == 2
    model = quantized_model(network, (left, right))
    assert [value.name for value in model.graph.input] == ["left", "right"]
    assert {"input_quant.0", "input_quant.1", "output_quant.0", "output_quant.1"} <= {n.name for n in quants(model)}
    found = run(session(model), {"left": left.numpy(), "right": right.numpy()})
    for name, wanted in zip(("output_0", "output_1"), network(left, right), strict=True):
        assert np.array_equal(found[name], wanted.detach().numpy())


def test_the_reference_evaluator_of_onnx_runs_the_file_too():
    folded, network = made("wht-cnn")
    for model, module in ((model_file("wht-cnn"), network), (float_file("wht-cnn"), folded)):
        (found,) = ReferenceEvaluator(model).run(None, {"input": images(6).numpy()})
        wanted = module(images(6)).detach().numpy()
        assert np.allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("name", NETWORKS)
def test_a_float_file_gives_the_values_of_torch(name):
    wanted = made(name)[0](images(50, 4)).detach().numpy()
    found = run(session(float_file(name)), images(50, 4).numpy())["output"]
    # Another order of summing: float32 has 24 bits, and at most some hundred terms are summed.
    assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_a_network_before_folding_can_be_exported_as_float_too():
    for name in ("dense-cnn", "wht-cnn"):
        model = settled(NETWORKS[name]())
        wanted = model(images(9)).detach().numpy()
        found = run(session(float_model(model, images(2))), images(9).numpy())["output"]
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_every_quantizer_has_its_own_node_named_after_its_module():
    nodes = quants(model_file("wht-cnn"))
    assert [node.name for node in nodes] == [
        "0.input_quant",
        "0.weight_quant",
        "0.bias_quant",
        "4.entry",
        "4.threshold.threshold_quant",
        "4.product.input_quant",
        "4.product.weight_quant",
        "4.product.bias_quant",
        "4.inverse.input_quant",
        "7.input_quant",
        "7.weight_quant",
        "7.bias_quant",
        "output_quant",
    ]
    parameters = [name for node in nodes for name in node.input[1:]]
    assert len(set(parameters)) == len(parameters)
    for node in nodes:
        assert list(node.input[1:]) == [f"{node.name}.{what}" for what in ("scale", "zero_point", "bit_width")]


class Equal(nn.Module):
    """Two layers with equal quantizers on one tensor."""

    def __init__(self):
        super().__init__()
        self.a, self.b = MFLinear(64, 3), MFLinear(64, 3)
        self.b.load_state_dict(self.a.state_dict())

    def forward(self, x):
        x = torch.relu(x.flatten(1))
        return self.a(x) + self.b(x)


def test_two_equal_quantizers_of_one_tensor_stay_two():
    model = quantized_model(quantize(settled(Equal()), Recipe(), images()), images(2))
    nodes = {node.name: node for node in quants(model)}
    assert nodes["a.input_quant"].input[0] == nodes["b.input_quant"].input[0]
    assert {"a.weight_quant", "b.weight_quant", "a.bias_quant", "b.bias_quant"} <= nodes.keys()
    known = arrays(model)
    for what in ("input_quant.scale", "weight_quant.bit_width"):
        assert known[f"a.{what}"] == known[f"b.{what}"]


class Shared(nn.Module):
    """One layer that is used twice."""

    def __init__(self):
        super().__init__()
        self.layer = MFLinear(64, 64)

    def forward(self, x):
        return self.layer(self.layer(x.flatten(1)))


def test_a_layer_that_is_used_twice_has_a_node_and_numbers_for_each_use():
    network = quantize(settled(Shared()), Recipe(), images())
    model = quantized_model(network, images(2))
    names = [node.name for node in quants(model)]
    assert {"layer.input_quant", "layer.input_quant_1"} <= set(names)
    parameters = [name for node in quants(model) for name in node.input[1:]]
    assert len(set(parameters)) == len(parameters)
    found = run(session(model), images(5).numpy())["output"]
    assert np.array_equal(found, network(images(5)).detach().numpy())


def test_weights_stay_float_and_quantize_to_those_of_torch():
    network, model = made("wht-cnn", "w8a8-channel")[1], model_file("wht-cnn", "w8a8-channel")
    known = arrays(model)
    for path, layer in network.model.named_modules():
        if isinstance(layer, QuantProduct):
            weight = layer.weight.detach().numpy()
            assert np.array_equal(known[f"{path}.weight"], weight if weight.ndim == 4 else weight.T)
            scale, most = known[f"{path}.weight_quant.scale"], 2 ** (layer.words.weight - 1) - 1
            codes = np.clip(np.round(known[f"{path}.weight"] / scale), -most, most) * scale
            wanted = plain(layer.weight_quant(layer.weight)).detach().numpy()
            assert np.array_equal(codes, wanted if weight.ndim == 4 else wanted.T)


def test_metadata_is_the_layer_alone_and_nothing_local_is_in_the_file():
    _, network = made("wht-cnn")
    for model in (float_file("wht-cnn"), model_file("wht-cnn")):
        layers = set()
        for node in model.graph.node:
            assert [p.key for p in node.metadata_props] == ["mfsim.layer"]
            layers.add(node.metadata_props[0].value)
        paths = dict(network.model.named_modules())
        assert all(layer in paths or layer == "output_quant" for layer in layers)
        assert {"0", "1", "2", "3", "4", "4.transform", "4.product", "4.inverse", "7"} <= layers
        data = model.SerializeToString()
        for word in (b"site-packages", b"/tmp", b"/home", b"/root", b".py", b"stack_trace", b"pkg.torch"):
            assert word not in data
        properties = {p.key: p.value for p in model.metadata_props}
        for_formats = {"mfsim.calibration", "mfsim.quantizers"} if properties["mfsim.kind"] == "quantized" else set()
        assert properties.keys() == {"mfsim.version", "mfsim.inputs", "mfsim.kind"} | for_formats


def test_the_same_network_gives_the_same_bytes(tmp_path):
    _, network = made("wht-cnn")
    export_quantized(network, images(3), tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == model_file("wht-cnn").SerializeToString(deterministic=True)


def test_export_leaves_the_network_as_it_was():
    network = copy.deepcopy(made("mf-mlp")[1]).train()
    before = network(images(5)).detach()
    quantized_model(network, images(2))
    assert network.training
    assert torch.equal(network(images(5)), before)


def test_inputs_have_the_names_of_the_forward_method_and_any_batch_size():
    model = model_file("residual")
    assert [value.name for value in model.graph.input] == ["picture"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    opened = session(model)
    for count in (0, 1, 7):
        assert run(opened, images(7)[:count].numpy())["output"].shape == (count, 5)


def test_only_ops_with_a_body_are_attached_and_the_bodies_hold_standard_ops():
    model = model_file("mf-mlp")
    assert sorted(f.name for f in model.functions) == ["MFMatMul", "Quant", "Shift"]
    assert all(not node.domain for function in model.functions for node in function.node)
    inlined = onnx.inliner.inline_local_functions(model)
    assert all(not node.domain for node in inlined.graph.node)
    found = session(inlined).run(None, {"input": images(4).numpy()})[0]
    assert np.array_equal(found, session(model).run(None, {"input": images(4).numpy()})[0])


def test_a_sum_past_two_to_the_24_is_an_error_that_names_its_node():
    wide = Recipe.from_dict({"weight": 16, "activation": 16})
    network = quantize(made("dense-cnn")[0], wide, images())
    with pytest.raises(ExportError) as caught:
        quantized_model(network, images(2))
    assert str(caught.value).startswith("node `0/Conv` (conv2d) of layer `0` has sums of 3")
    assert str(caught.value).endswith(
        "bits, and float32 is exact up to 25; use fewer bits in the recipe, or allow an inexact file"
    )
    assert quantized_model(network, images(2), allow_inexact=True).graph.node


def test_parameters_that_are_no_numbers_are_refused(tmp_path):
    folded, network = copy.deepcopy(made("mf-mlp"))
    with torch.no_grad():
        folded[4].weight[0, 0] = float("nan")
        network.model[4].bias[1] = float("inf")
    with pytest.raises(ModelError, match=r"^`4.weight` of the model holds NaN or infinite values$"):
        export_float(folded, images(2), tmp_path / "float.onnx")
    with pytest.raises(ModelError, match=r"^`model.4.bias` of the model holds NaN or infinite values$"):
        export_quantized(network, images(2), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    folded, _ = made("mf-mlp")
    with pytest.raises(ExportError, match=r"missing/float.onnx` cannot be written: No such file or directory$"):
        export_float(folded, images(2), tmp_path / "missing" / "float.onnx")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ExportError, match=r"folder` cannot be written: Is a directory$"):
        export_float(folded, images(2), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_examples_that_do_not_suit_the_model():
    folded, _ = made("mf-mlp")
    with pytest.raises(
        ExportError, match=r"^the model cannot run on an input of shape \(2, 5\): RuntimeError: mat1 and mat2"
    ):
        float_model(nn.Linear(3, 2), torch.zeros(1, 5))
    with pytest.raises(
        ExportError,
        match=r"^an example must be a float tensor with at least one sample, or int64 for ids, not torch.int32 \(2,\)$",
    ):
        float_model(folded, torch.zeros(2, dtype=torch.int32))
