"""Softmax and tanh-l1 in float: what each form computes, masks, gradients, refusals."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import Softmax, TanhL1

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.0, 0.0, 0.0, 0.0], [-8.0, 8.0, 7.75, -0.5]], dtype=torch.float64)


@pytest.mark.parametrize("form", ["division", "reciprocal", "log"])
def test_softmax_is_the_float_function_of_every_form_but_shift(form):
    exp = [[math.exp(0.3 * v) for v in row] for row in X.tolist()]
    expected = torch.tensor([[e / sum(row) for e in row] for row in exp], dtype=torch.float64)
    # 1e-15: a few roundings of doubles at most 1.
    assert torch.allclose(Softmax(0.3, form)(X), expected, rtol=0, atol=1e-15)


def test_shift_divides_by_the_nearest_power_of_two():
    rows = Softmax(form="shift")(X)
    for row, x in zip(rows, X.tolist(), strict=True):
        exp = [math.exp(v - max(x)) for v in x]
        k = round(math.log2(sum(exp)))
        assert 2**-0.5 <= row.sum() <= 2**0.5
        assert row.tolist() == pytest.approx([e / 2**k for e in exp], rel=1e-12)
    assert rows[1].tolist() == [0.25] * 4


def test_a_causal_row_sees_itself_and_what_is_before():
    x = torch.randn(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    for layer, form in itertools.product((Softmax, TanhL1), ("division", "shift")):
        y = layer(0.5, form, causal=True)(x)
        for i in range(4):
            assert torch.equal(y[..., i, : i + 1], layer(0.5, form)(x[..., i, : i + 1]))
            assert not y[..., i, i + 1 :].any()


def test_tanh_l1_divides_by_the_sum_of_magnitudes():
    for eps in (1e-6, 0.5):
        for row, x in zip(TanhL1(0.3, eps=eps)(X), X.tolist(), strict=True):
            t = [math.tanh(0.3 * v) for v in x]
            assert row.tolist() == pytest.approx([v / (eps + sum(map(abs, t))) for v in t], rel=1e-12)
        for row, x in zip(TanhL1(0.3, "shift", eps)(X), X.tolist(), strict=True):
            t = [math.tanh(0.3 * v) for v in x]
            k = round(math.log2(eps + sum(map(abs, t))))
            assert row.tolist() == pytest.approx([v / 2**k for v in t], rel=1e-12)


@pytest.mark.parametrize("layer", [Softmax, TanhL1])
def test_the_rounding_of_the_divisor_passes_its_gradient(layer):
    x = X.clone().requires_grad_()
    exact, shifted = layer()(x), layer(form="shift")(x)
    gain = (shifted.sum(-1, keepdim=True) / exact.sum(-1, keepdim=True)).nan_to_num(1).detach()
    weights = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    (straight,) = torch.autograd.grad((shifted * weights)[[0, 2]].sum(), x)
    (expected,) = torch.autograd.grad((exact * gain * weights)[[0, 2]].sum(), x)
    assert straight.any()
    assert torch.allclose(straight, expected, rtol=1e-12, atol=0)


def test_bad_options():
    with pytest.raises(
        FormatError, match=r"^`form` of a softmax must be one of .*, not 'shfit'; did you mean `shift`\?$"
    ):
        Softmax(form="shfit")
    with pytest.raises(FormatError, match=r"^`form` of a tanh-l1 must be one of division, shift, not 'log'$"):
        TanhL1(form="log")
    with pytest.raises(FormatError, match=r"^`gain` of a softmax must be a positive number, not 0$"):
        Softmax(0)
    with pytest.raises(FormatError, match=r"^`eps` of a tanh-l1 must be a positive number, not 0.0$"):
        TanhL1(eps=0.0)
    with pytest.raises(ShapeError, match=r"^a causal softmax needs as many rows as columns, not x of shape \(2, 3\)$"):
        Softmax(causal=True)(torch.zeros(2, 3))
    with pytest.raises(ShapeError, match=r"^a causal tanh-l1 needs as many rows as columns, not x of shape \(4,\)$"):
        TanhL1(causal=True)(torch.zeros(4))
