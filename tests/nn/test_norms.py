"""Float norms over the last axis: torch's own functions, and norms whose gains are powers of two."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import LayerNorm, RMSNorm, ShiftNorm


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize(("ours", "theirs"), [(LayerNorm, nn.LayerNorm), (RMSNorm, nn.RMSNorm)])
@pytest.mark.parametrize("form", ["division", "reciprocal"])
def test_float_norms_are_those_of_torch(ours, theirs, form):
    norm, torch_norm = ours(12, eps=0.01, form=form), theirs(12, eps=0.01)
    assert [name for name, _ in norm.named_parameters()] == [name for name, _ in torch_norm.named_parameters()]
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.uniform_(-1, 1)
    torch_norm.load_state_dict(norm.state_dict())
    x = torch.randn(2, 3, 12)
    assert torch.equal(norm(x), torch_norm(x))


def rows_with_sigma(kind, factors):
    """Return rows (1, -1, 0, 0) * f / 4, whose N sigma is f * sqrt(1 / 2) (l2) or f * sqrt(pi / 2) / 2 (l1)."""
    unit = math.sqrt(0.5) if kind == "l2" else math.sqrt(math.pi / 2) / 2
    rows = torch.tensor([1.0, -1.0, 0.0, 0.0], dtype=torch.float64)[None] / 4
    return rows * torch.tensor(factors, dtype=torch.float64)[:, None], unit


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_shift_norm_rounds_n_sigma_to_the_nearest_power_of_two_in_the_log_domain(kind):
    norm = ShiftNorm(4, kind).double()
    x, unit = rows_with_sigma(kind, [1.0])
    for exponent in (-3, 0, 2):
        for factor, k in ((0.99, exponent), (1.01, exponent + 1)):
            scaled = x * (factor * 2.0 ** (exponent + 0.5) / unit)
            assert torch.equal(norm(scaled), scaled * 4 / 2.0**k)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_shift_norm_of_gaussian_rows_has_sigma_about_1(kind):
    y = ShiftNorm(4096, kind)(torch.randn(64, 4096) * torch.exp(torch.randn(64, 1)))
    sigma = y.std(-1, correction=0)
    assert sigma.min() > 0.68
    assert sigma.max() < 1.49
    assert y.mean(-1).abs().max() < 1e-5  # float32 sums of 4096 values


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_shift_norm_of_a_constant_row_is_its_bias_with_finite_gradients(kind):
    norm = ShiftNorm(192, kind)
    with torch.no_grad():
        norm.bias.uniform_(-1, 1)
    x = torch.full((2, 192), 0.1, requires_grad=True)
    y = norm(x)
    y.square().sum().backward()
    # 0.1 is no float32, so the mean of 192 of them is off by some 1e-8, which must not be normalised.
    assert (y - norm.bias).abs().max() < 0.02
    assert all(torch.isfinite(t.grad).all() for t in (x, norm.log_gain, norm.bias))


def test_shift_norm_gains_are_powers_of_two_for_each_channel():
    norm, plain = ShiftNorm(6), ShiftNorm(6)
    with torch.no_grad():
        norm.log_gain.copy_(torch.tensor([0.4, 0.6, -1.2, 3.0, 20.0, -20.0]))
    assert norm.exponents() == (0, 1, -1, 3, 8, -8)
    x = torch.randn(3, 6)
    assert torch.equal(norm(x), plain(x) * torch.exp2(torch.tensor(norm.exponents()).float()))


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_shift_norm_trains_as_the_norm_that_is_not_rounded(kind):
    norm = ShiftNorm(8, kind).double()
    x = torch.randn(4, 8, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(4, 8, dtype=torch.float64)
    (norm(x) * weights).sum().backward()
    centred = x.detach() - x.detach().mean(-1, keepdim=True)
    sigma = centred.square().mean(-1).sqrt() if kind == "l2" else centred.abs().mean(-1) * math.sqrt(math.pi / 2)
    p = torch.exp2(torch.floor(torch.log2(8 * sigma) + 0.5)) / 8
    again = x.detach().clone().requires_grad_(True)
    centred = again - again.mean(-1, keepdim=True)
    live = centred.square().mean(-1).sqrt() if kind == "l2" else centred.abs().mean(-1) * math.sqrt(math.pi / 2)
    (centred / (live * (p / sigma))[:, None] * weights).sum().backward()
    assert torch.allclose(x.grad, again.grad, rtol=1e-9, atol=1e-12)  # float64, two orders of operations
    assert norm.log_gain.grad.abs().min() > 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LayerNorm(0), ShapeError, "`width` of a norm must be at least 1, not 0"),
        (lambda: RMSNorm(4, eps=-1.0), FormatError, "`eps` of a norm must be finite and at least 0, not -1.0"),
        (
            lambda: LayerNorm(4, form="recip"),
            FormatError,
            "`form` of a norm must be one of division, reciprocal, not 'recip'; did you mean `reciprocal`?",
        ),
        (lambda: ShiftNorm(4, "l3"), FormatError, "`kind` of a norm must be one of l1, l2, not 'l3'"),
        (lambda: ShiftNorm(4)(torch.zeros(2, 5)), ShapeError, "a norm of width 4 does not suit x (2, 5)"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message
