"""Layers of AdderNet, min-type and power-of-two products: gradients, geometry, rounding of weights, options."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from mfsim.errors import ShapeError
from mfsim.nn import AdderConv2d, AdderLinear, MinConv2d, MinLinear, ShiftConv2d, ShiftLinear
from mfsim.nn.family import settle
from mfsim.ops.distance import torch as aligned
from mfsim.ops.power_of_two import torch as power_weights


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def test_gradients_of_distances_are_those_of_adder_nets():
    x, w = torch.randn(5, 4, dtype=torch.float64) * 2, torch.randn(4, 3, dtype=torch.float64)
    x.requires_grad_(), w.requires_grad_()
    gradient = torch.randn(5, 3, dtype=torch.float64)
    y = aligned.adder_matmul(x, w)
    difference = x.detach()[:, :, None] - w.detach()[None]
    # 1e-12: a few roundings of float64 at values of order 1.
    assert torch.allclose(y, -difference.abs().sum(1), rtol=0, atol=1e-12)
    y.backward(gradient)
    assert (difference.abs() > 1).any()
    assert torch.allclose(w.grad, (gradient[:, None] * difference).sum(0), rtol=0, atol=1e-12)
    assert torch.allclose(x.grad, (gradient[:, None] * (-difference).clamp(-1, 1)).sum(2), rtol=0, atol=1e-12)


def test_gradients_of_minima_are_the_true_ones():
    x, w = torch.randn(5, 4, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    assert gradcheck(aligned.min_matmul, (x.requires_grad_(), w.requires_grad_()))


@pytest.mark.parametrize("name", ["adder", "min"])
def test_a_convolution_is_the_matrix_product_of_its_windows(name):
    convolve, product = getattr(aligned, f"{name}_conv2d"), getattr(aligned, f"{name}_matmul")
    x = torch.randn(2, 4, 5, 6, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 2, 2, 3, dtype=torch.float64, requires_grad=True)
    y = convolve(x, w, stride=(1, 2), padding=(1, 0, 0, 1), groups=2)
    padded = torch.nn.functional.pad(x, (0, 1, 1, 0))
    parts = []
    for g in range(2):
        columns = torch.nn.functional.unfold(padded[:, 2 * g : 2 * g + 2], (2, 3), stride=(1, 2)).transpose(1, 2)
        weights = w[3 * g : 3 * g + 3].flatten(1).t()
        parts.append(torch.stack([product(sample, weights) for sample in columns]))
    z = torch.cat(parts, 2).transpose(1, 2).reshape(y.shape)
    assert torch.equal(y, z)
    for got, expected in zip(*(torch.autograd.grad(v.square().sum(), (x, w)) for v in (y, z)), strict=True):
        assert torch.allclose(got, expected, rtol=0, atol=1e-9)  # sums of some 100 terms up to 100


def test_batches_of_matrices_have_weights_of_their_own():
    x, w = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 4, 6)
    for product in (aligned.adder_matmul, aligned.min_matmul):
        assert torch.equal(product(x, w)[1, 2], product(x[1, 2], w[1, 2]))


@pytest.mark.parametrize(
    ("w", "rounded"),
    # halves of octaves: 2^0.5 = 1.41421356..., so 1.4142 belongs to 1 and 1.4143 to 2
    [(0.0, 0.0), (1.0, 1.0), (1.4142, 1.0), (1.4143, 2.0), (-1.4143, -2.0), (0.7072, 1.0), (0.7071, 0.5), (-3.0, -4.0)],
)
def test_weights_are_rounded_in_the_log_domain(w, rounded):
    given = torch.tensor([w], requires_grad=True)
    found = power_weights.power_of_two(given)
    assert found.tolist() == [rounded]
    found.backward()
    assert given.grad.tolist() == [1.0]


def test_every_rounded_weight_is_nearest_in_the_log_domain():
    w = torch.exp2(torch.linspace(-9, 9, 4001)) * 1.0001
    exact = torch.log2(w.double())
    assert torch.equal(power_weights.power_of_two(w).double(), torch.exp2(torch.round(exact)))


def test_the_largest_power_bounds_the_result():
    w = torch.tensor([5.0, -5.0, 0.3])
    assert power_weights.power_of_two(w, torch.tensor(2.0)).tolist() == [2.0, -2.0, 0.25]


@pytest.mark.parametrize("layer", [ShiftLinear(6, 3), ShiftConv2d(2, 3, 3, padding=1)])
def test_settled_weights_compute_the_same(layer):
    x = torch.randn(2, 6) if isinstance(layer, ShiftLinear) else torch.randn(2, 2, 5, 5)
    before = layer(x)
    assert not torch.equal(layer.weight, layer.used_weight())
    settle(layer)
    assert torch.equal(layer.weight, layer.used_weight())
    assert torch.equal(layer(x), before)


@pytest.mark.parametrize("kind", [AdderLinear, MinLinear, ShiftLinear])
def test_linear_layers(kind):
    layer = kind(4, 3)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
    x = torch.randn(2, 5, 4)
    assert torch.equal(layer(x), layer.product(x, layer.used_weight().t()) + layer.bias)
    assert kind(4, 3, bias=False).bias is None
    with pytest.raises(ShapeError, match=r"^`in_features` and `out_features` must be at least 1, not 0 and 3$"):
        kind(0, 3)


@pytest.mark.parametrize("kind", [AdderConv2d, MinConv2d, ShiftConv2d])
def test_convolutions(kind):
    layer = kind(4, 6, (2, 3), stride=2, padding=(1, 0), dilation=(1, 2), groups=2)
    with torch.no_grad():
        layer.bias.copy_(torch.arange(6.0))
    y = layer(torch.zeros(1, 4, 7, 9))
    assert y.shape == (1, 6, 4, 3)
    inner = y[:, :, 1, 1] - torch.arange(6.0)
    wanted = -layer.used_weight().abs().sum((1, 2, 3)) if kind is AdderConv2d else torch.zeros(6)
    # 1e-5: 12 terms of order 1 in float32, summed in another order.
    assert torch.allclose(inner, wanted, rtol=0, atol=1e-5)
    message = r"^`in_channels` 3 and `out_channels` 4 must be multiples of `groups`, which is 2$"
    with pytest.raises(ShapeError, match=message):
        kind(3, 4, 1, groups=2)


@pytest.mark.parametrize("product", [aligned.adder_matmul, aligned.min_matmul])
def test_shapes_that_do_not_meet_are_refused(product):
    with pytest.raises(ShapeError) as error:
        product(torch.zeros(2, 3), torch.zeros(4, 5))
    assert str(error.value) == (
        "x (2, 3) must end in K, and w be [K, O] or [..., K, O] with the leading axes of x, not (4, 5)"
    )


@pytest.mark.parametrize("convolve", [aligned.adder_conv2d, aligned.min_conv2d, power_weights.shift_conv2d])
def test_channels_that_do_not_meet_are_refused(convolve):
    with pytest.raises(ShapeError) as error:
        convolve(torch.zeros(1, 3, 4, 4), torch.zeros(2, 2, 1, 1))
    assert str(error.value) == (
        "x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` 1, not (1, 3, 4, 4) and (2, 2, 1, 1)"
    )
