"""What single layers become: geometry, weights and statistics are those of the old layer, exactly."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mfsim.conversion.layers import make
from mfsim.errors import MfsimError
from mfsim.nn import MFConv2d, MFLinear, ShiftBatchNorm1d, ShiftBatchNorm2d, WHTLayer
from tests.conversion.networks import integers, whole


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("padding", [0, (2, 1), "same", "valid"])
@pytest.mark.parametrize(("kernel", "dilation"), [((3, 2), 1), (4, (1, 2))])
@pytest.mark.parametrize(("groups", "bias"), [(1, True), (2, False)])
def test_the_geometry_of_a_convolution(padding, kernel, dilation, groups, bias):
    """A dense convolution with the new layer's geometry and weights gives the old layer's values."""
    stride = 1 if padding == "same" else (2, 1)
    old = whole(nn.Conv2d(4, 6, kernel, stride, padding, dilation, groups, bias))
    made = make(old, "mf", {"form": "abs", "sign_zero": 1, "grid": "shared"})
    new = made.layer
    assert type(new) is MFConv2d
    assert (new.form, new.sign_zero, new.grid) == ("abs", 1, "shared")
    top, left, bottom, right = new.padding
    x = integers(2, 4, 9, 8)
    padded = F.pad(x, (left, right, top, bottom))
    assert torch.equal(
        F.conv2d(padded, new.weight, new.bias, new.stride, 0, new.dilation, new.groups),
        old(x),
    )
    assert new(x).shape == old(x).shape
    assert made.kept == (("weight", "bias") if bias else ("weight",))


def test_weights_are_taken_over_as_objects():
    old = nn.Linear(5, 3)
    old.weight.requires_grad_(False)
    new = make(old, "mf", {}).layer
    assert type(new) is MFLinear
    assert new.weight is old.weight
    assert new.bias is old.bias
    assert make(nn.Linear(5, 3, bias=False), "mf", {}).layer.bias is None


@pytest.mark.parametrize("old", [nn.Linear(5, 3), nn.Conv2d(5, 3, 2)], ids=["linear", "conv"])
def test_a_norm_behind_an_mf_product_takes_the_bias(old):
    made = make(old, "mf", {"norm": True})
    assert made.layer.product.bias is None
    assert made.layer.norm.offset is old.bias
    assert type(made.layer.norm) is (ShiftBatchNorm1d if isinstance(old, nn.Linear) else ShiftBatchNorm2d)
    assert made.kept == ("weight", "bias as offset")
    assert make(old, "mf", {"norm": False}).layer.bias is old.bias


@pytest.mark.parametrize(("kind", "shape"), [(nn.BatchNorm1d, (6, 4)), (nn.BatchNorm2d, (6, 4, 3, 2))])
def test_a_batch_norm_whose_gains_are_powers_of_two_stays_equal(kind, shape):
    old = kind(4, eps=0.0, momentum=0.25)
    with torch.no_grad():
        old.weight.copy_(torch.tensor([1.0, 0.5, 8.0, 2.0]))
        old.bias.copy_(integers(4))
        old.running_mean.copy_(integers(4, seed=1))
        old.running_var.copy_(torch.tensor([1.0, 4.0, 0.25, 16.0]))
    made = make(old.eval(), "shift", {})
    x = integers(*shape, seed=2)
    assert torch.equal(made.layer(x), old(x))
    assert not made.layer.training
    assert (made.layer.eps, made.layer.momentum) == (0.0, 0.25)
    assert made.layer.exponents() == (0, -2, 4, -1)
    assert (made.kept, made.note) == (("mean", "variance", "offset", "gain to the nearest 2^k"), "")


def test_other_gains_go_to_the_nearest_power_of_two():
    old = nn.BatchNorm2d(6)
    gains = [1.4, 1.42, 0.3, -3.0, 0.0, 100.0]
    with torch.no_grad():
        old.weight.copy_(torch.tensor(gains))
        old.running_var.fill_(4.0)
    made = make(old, "shift", {})
    expected = [round(math.log2(abs(g) / math.sqrt(4 + 1e-5))) if g else -30 for g in gains]
    assert made.layer.exponents() == tuple(expected) == (-1, 0, -3, 1, -30, 6)
    assert made.note == "1 negative gains made positive, 1 gains of 0"


def test_a_batch_norm_without_parameters():
    made = make(nn.BatchNorm1d(3, affine=False), "shift", {})
    assert made.kept == ("mean", "variance")
    assert made.layer.log_gain.tolist() == made.layer.offset.tolist() == [0, 0, 0]


def test_the_start_of_a_wht_layer_is_stated():
    made = make(nn.Conv2d(8, 8, 1), "wht", {"threshold": 0.25, "residual": False, "order": "sequency"})
    layer = made.layer
    assert type(layer) is WHTLayer
    assert (layer.layout, layer.over, layer.residual, layer.transform.order) == ("image", "channels", False, "sequency")
    assert layer.threshold.weight.tolist() == [0.25] * 8
    assert made.kept == ()
    assert made.note == "fresh: weights normal with deviation 0.03, thresholds 0.25, offset 0 in place of the bias"
    assert make(nn.Linear(6, 6, bias=False), "wht", {"size": "pad"}).layer.padded == (8,)
    assert make(nn.Linear(4, 4), "wht", {"norm": False}).note.endswith(", bias 0")


def test_a_wht_over_the_plane_stands_for_a_larger_kernel():
    layer = make(nn.Conv2d(3, 3, 3, padding=1), "wht", {"over": "plane", "plane": [4, 8]}).layer
    assert layer(integers(2, 3, 4, 8)).shape == (2, 3, 4, 8)


def test_type_and_mode_are_kept():
    new = make(nn.Linear(4, 4).double().eval(), "wht", {}).layer
    assert new.product.weight.dtype == torch.float64
    assert not new.training


def weight_normed() -> nn.Module:
    return nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))


def hooked() -> nn.Module:
    layer = nn.Linear(4, 4)
    layer.register_forward_pre_hook(lambda module, arguments: None)
    return layer


@pytest.mark.parametrize(
    ("layer", "to", "options", "sentence"),
    [
        (nn.ConvTranspose2d(2, 2, 3), "mf", {}, "only Linear and Conv2d themselves can"),
        (nn.Conv1d(2, 2, 3), "wht", {}, "only Linear and Conv2d themselves can"),
        (nn.BatchNorm3d(2), "shift", {}, "only BatchNorm1d and BatchNorm2d themselves can"),
        (weight_normed(), "mf", {}, "only Linear and Conv2d themselves can"),
        (hooked(), "mf", {}, "it has hooks, such as those of weight_norm; remove them first"),
        (
            nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"),
            "mf",
            {},
            "its `padding_mode` must be zeros, not reflect",
        ),
        (nn.Linear(2, 3), "wht", {}, "it must have as many outputs as inputs, not 3 for 2"),
        (
            nn.Conv2d(4, 4, 1, groups=2),
            "wht",
            {},
            "it must have as many outputs as inputs in one group, not 4 for 4 in 2",
        ),
        (nn.Conv2d(4, 4, 1, stride=2), "wht", {}, "its `stride` and `padding` must keep the shape of the image"),
        (nn.Conv2d(4, 4, 3), "wht", {}, "its `stride` and `padding` must keep the shape of the image"),
        (
            nn.Conv2d(4, 4, 3, padding=1),
            "wht",
            {},
            "over channels its kernel must be 1 x 1, not 3 x 3; a plane of fixed size needs the options `over` plane and `plane`",
        ),
        (
            nn.Linear(6, 6),
            "wht",
            {},
            "the length of a Walsh-Hadamard transform must be a power of two, not 6; use `size` pad (zeros up to 8) or block (blocks of 2)",
        ),
        (nn.Linear(2, 3), "mf", {"form": "fe"}, "`form` must be one of ef, abs, not 'fe'"),
        (nn.BatchNorm2d(2, track_running_stats=False), "shift", {}, "it must keep running statistics"),
        (
            nn.BatchNorm2d(2, momentum=None),
            "shift",
            {},
            "its `momentum` must be a number; None averages over all batches",
        ),
    ],
)
def test_layers_that_cannot(layer, to, options, sentence):
    with pytest.raises(MfsimError) as error:
        make(layer, to, options)
    assert str(error.value) == sentence
