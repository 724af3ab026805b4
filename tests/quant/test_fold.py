"""Folding: the same function without batch norms, and errors that name what cannot be folded."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mfsim.analysis import count
from mfsim.errors import ModelError, UnsupportedOpError
from mfsim.export.exporter import quantized_model
from mfsim.nn import Add, Affine, GlobalAvgPool2d, MFConv2d, MFLinear, Shift, ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.quant import Recipe, fold, quantize
from mfsim.quant.store import load, save
from tests.compiler.files import assert_like_runtime
from tests.quant.networks import NETWORKS, images, settled


@pytest.mark.parametrize("name", NETWORKS)
def test_the_folded_network_is_the_same_function_in_float64(name):
    model = settled(NETWORKS[name]())
    before = copy.deepcopy(model.state_dict())
    folded = fold(model, images(4))
    assert all(torch.equal(before[key], tensor) for key, tensor in model.state_dict().items())
    assert not any(isinstance(m, (nn.BatchNorm2d, ShiftBatchNorm1d, nn.AvgPool2d)) for m in folded.modules())
    wanted, found = model(images()).detach(), folded(images()).detach()
    # Dense weights are rounded to float32 once more after the gain; biases of MF products are exact.
    assert torch.allclose(found, wanted, rtol=0, atol=1e-5 * float(wanted.abs().max()))


def test_power_of_two_gains_become_a_shift_and_change_no_bit():
    model = settled(NETWORKS["mf-mlp"]())
    folded = fold(model, images(2))
    assert isinstance(folded[2], Shift)
    assert folded[2].exponents == model[2].exponents()
    assert torch.equal(folded(images()), model(images()))


def test_torch_pooling_becomes_a_change_of_scale():
    folded = fold(settled(NETWORKS["dense-cnn"]()), images(2))
    assert [type(folded[k]).__name__ for k in (1, 3, 8)] == ["Identity", "AvgPool2d", "GlobalAvgPool2d"]
    assert isinstance(folded[8], GlobalAvgPool2d)


def refused(model, error, message):
    with pytest.raises(error) as caught:
        fold(model, images(2))
    assert str(caught.value) == message


def test_an_ordinary_batch_norm_behind_an_mf_product():
    refused(
        settled(nn.Sequential(MFConv2d(1, 2, 3), nn.BatchNorm2d(2))),
        UnsupportedOpError,
        "BatchNorm2d `1` follows the MF product `0`, into which no gain folds; use ShiftBatchNorm",
    )


def test_a_batch_norm_behind_something_else():
    refused(
        settled(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(inplace=True), nn.BatchNorm2d(2))),
        UnsupportedOpError,
        "BatchNorm2d `2` follows `1` (ReLU), so it cannot be folded; it must follow Linear, Conv2d",
    )
    refused(
        settled(nn.Sequential(ShiftBatchNorm2d(1), MFConv2d(1, 2, 3))),
        UnsupportedOpError,
        "ShiftBatchNorm2d `0` follows no layer of its own, so it cannot be folded; it must follow MFLinear, MFConv2d, AdderLinear, "
        "AdderConv2d, MinLinear, MinConv2d, ShiftLinear, ShiftConv2d, Linear, Conv2d",
    )


class Tokens(nn.Module):
    """A sum of two branches, and a batch norm of the features of its tokens in front of an MF product."""

    def __init__(self):
        super().__init__()
        self.embed, self.add, self.norm = MFLinear(8, 8), Add(), ShiftBatchNorm1d(8)
        self.mlp = MFLinear(8, 8, bias=False)
        self.mlp_norm = ShiftBatchNorm1d(8)

    def forward(self, x):
        tokens = self.embed(x.flatten(1, 2))
        return self.mlp_norm(self.mlp(self.norm(self.add(tokens, tokens))))


def test_a_batch_norm_of_tokens_behind_a_sum_becomes_shifts_and_offsets(tmp_path):
    model = settled(Tokens())
    folded = fold(model, images(2))
    assert (type(folded.norm), folded.norm.kind) == (Affine, "power-of-two")
    assert folded.norm.gains().tolist() == [2.0**k for k in model.norm.exponents()]
    assert isinstance(folded.mlp_norm, Shift)
    # No difference: gains are powers of two, and both ways add one offset.
    assert torch.equal(folded.norm(images(3).flatten(1, 2)), model.norm(images(3).flatten(1, 2)))
    quantized = quantize(folded, Recipe(), images(40))
    program = assert_like_runtime(quantized_model(quantized, images(2)), images(20, 5).numpy())
    made = [node.op for node in program.nodes if node.layer == "norm"]
    assert made == ["requantize", "add", "shift"]
    assert not count(program).multiplications()
    again = load(save(quantized, tmp_path / "network.safetensors"), model)
    with torch.no_grad():
        assert torch.equal(again(images(9)), quantized(images(9)))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 1, 3, padding=1), nn.BatchNorm2d(1)

    def forward(self, x):
        y = self.conv(x)
        return self.norm(y) + y


def test_a_product_whose_output_is_used_elsewhere_too_is_found_by_the_comparison():
    with pytest.raises(
        ModelError, match=r"^the folded model differs from the given one by .* used twice, or its output elsewhere too$"
    ):
        fold(settled(Twice()), images(2))


def test_pooling_that_is_no_relabelling():
    refused(
        nn.Sequential(nn.AdaptiveAvgPool2d(2)),
        UnsupportedOpError,
        "AdaptiveAvgPool2d `0` must have the output size 1, not 2",
    )
    refused(
        nn.Sequential(nn.AvgPool2d(2, ceil_mode=True)),
        UnsupportedOpError,
        "AvgPool2d `0` must have ceil_mode False, no divisor_override, and count_include_pad True where it pads",
    )
    with pytest.raises(ValueError, match=r"^AvgPool2d `0`: the area .* must be a power of two, not 3 x 3 = 9"):
        fold(nn.Sequential(nn.AvgPool2d(3)), images(2))


def test_parameters_that_are_not_numbers():
    model = nn.Sequential(nn.Flatten(), MFLinear(64, 2))
    with torch.no_grad():
        model[1].weight[0, 0] = float("nan")
    refused(model, ModelError, "`1.weight` of the model holds NaN or infinite values")


def test_a_model_that_does_not_suit_its_example():
    with pytest.raises(ModelError, match=r"^the model cannot run in float64 on an input of shape \(2, 1, 8, 8\): "):
        fold(nn.Sequential(nn.Linear(5, 2)), images(2))
