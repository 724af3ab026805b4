"""Batch norm with power-of-two gains: exact in eval, straight-through in training."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from mfsim.errors import ShapeError
from mfsim.nn import ShiftBatchNorm1d, ShiftBatchNorm2d

SPREADS = torch.tensor([0.001, 0.3, 1.0, 40.0])


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def images():
    return torch.randn(16, 4, 5, 5) * SPREADS[:, None, None] + torch.tensor([0.0, 3.0, -1.0, 100.0])[:, None, None]


@pytest.mark.parametrize("layout", ["features", "image"])
def test_eval_is_exactly_a_shift_and_an_offset(layout):
    norm, x = (ShiftBatchNorm2d(4), images()) if layout == "image" else (ShiftBatchNorm1d(4), images().movedim(1, -1))
    for _ in range(3):
        norm(x)
    norm.eval()
    with torch.no_grad():
        norm.offset.uniform_(-1, 1)
    gain, offset = norm.gain_and_offset()
    assert gain.tolist() == [2.0**k for k in norm.exponents()]
    view = (slice(None), None, None) if layout == "image" else (...,)
    assert torch.equal(norm(x), x * gain[view] + offset[view])


def test_statistics_are_those_of_torch():
    norm, torch_norm, x = ShiftBatchNorm2d(4), nn.BatchNorm2d(4), images()
    for _ in range(3):
        norm(x)
        torch_norm(x)
    # 1e-5: float32 sums of 400 values in two orders.
    assert torch.allclose(norm.running_mean, torch_norm.running_mean, rtol=1e-5)
    assert torch.allclose(norm.running_var, torch_norm.running_var, rtol=1e-5)


def test_the_gain_is_the_nearest_power_of_two():
    norm = ShiftBatchNorm1d(3, eps=0.0, momentum=1.0)
    with torch.no_grad():
        norm.log_gain.copy_(torch.tensor([0.0, 0.6, -3.0]))
    x = torch.tensor([[-1.0], [1.0]]) * torch.tensor([1.0, 8.0, 3.0])
    y = norm(x)
    # log2(gamma / deviation) is 0, 0.6 - 3 and -3 - 1.58.
    assert y[1].tolist() == [1.0, 8 / 4, 3 / 32]
    assert norm.exponents() == (0, -3, -5)  # of the unbiased variance, twice as large: half a step lower


def test_training_normalises_within_a_factor_of_sqrt_2():
    deviation = ShiftBatchNorm2d(4)(images()).std((0, 2, 3))
    assert (deviation[1:] > 0.7).all()
    assert (deviation[1:] < 1.42).all()
    assert deviation[0] < 1.0  # `eps` is larger than this variance


def test_gradients_pass_the_rounding_of_the_exponent():
    norm, x = ShiftBatchNorm1d(2).double(), torch.randn(8, 2).double().requires_grad_()
    gradient = torch.randn(8, 2).double()
    y = norm(x)
    y.backward(gradient)
    mean, variance = x.detach().mean(0), x.detach().var(0, correction=0)
    gain = torch.exp2(torch.round(-torch.log2(variance + norm.eps) / 2))
    centred = x.detach() - mean
    reach = (gradient * centred).sum(0)
    assert torch.allclose(norm.log_gain.grad, math.log(2) * gain * reach, rtol=1e-12)
    assert torch.allclose(norm.offset.grad, gradient.sum(0), rtol=1e-12)
    through_variance = -gain * centred / (variance + norm.eps) * reach / len(x)
    expected = gain * (gradient - gradient.mean(0)) + through_variance
    assert torch.allclose(x.grad, expected, rtol=0, atol=1e-12)


def test_a_channel_without_variance_does_no_harm():
    norm = ShiftBatchNorm1d(1, eps=0.0)
    x = torch.full((4, 1), 3.0, requires_grad=True)
    y = norm(x)
    assert y.flatten().tolist() == [0, 0, 0, 0]
    assert norm.gain.tolist() == [1.0]  # of a running variance of 0.9


def test_every_gain_is_an_exact_power_of_two():
    norm = ShiftBatchNorm1d(61, eps=0.0)
    with torch.no_grad():
        norm.log_gain.copy_(torch.arange(-30.0, 31.0))
    norm(torch.tensor([-1.0, 1.0])[:, None].expand(2, 61))
    assert norm.gain.tolist() == [2.0**k for k in norm.exponents()]
    assert set(norm.exponents()) >= set(range(-29, 30))


def test_state_dict_brings_the_gain_back():
    norm, other, x = ShiftBatchNorm2d(4), ShiftBatchNorm2d(4), images()
    norm(x)
    other.load_state_dict(norm.state_dict())
    assert torch.equal(norm.eval()(x), other.eval()(x))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ShiftBatchNorm1d(0), "`features` of a batch norm must be at least 1, not 0"),
        (
            lambda: ShiftBatchNorm2d(4)(torch.ones(2, 3, 4, 4)),
            "a batch norm of 4 channels along axis -3 does not suit x (2, 3, 4, 4)",
        ),
        (
            lambda: ShiftBatchNorm1d(4)(torch.ones(1, 4)),
            "batch norm in training needs more than one value for each channel, not x (1, 4)",
        ),
    ],
)
def test_refused(call, sentence):
    with pytest.raises(ShapeError) as error:
        call()
    assert str(error.value) == sentence
