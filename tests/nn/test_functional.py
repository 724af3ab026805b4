"""The torch operations: gradients, options, shapes. Their values on codes: tests/conformance/torch_forms.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import functional
from mfsim.ops.mf.torch import hard_sign


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def doubles(*shape):
    """Return values away from 0 and from the thresholds of this file, with a gradient."""
    values = torch.randint(1, 9, shape).double() / 4 + 0.1
    return (values * torch.where(torch.rand(shape) < 0.5, -1.0, 1.0)).requires_grad_()


def test_hard_sign_is_hard_forward_and_tanh_backward():
    x = torch.tensor([-2.0, -0.0, 0.0, 0.5], requires_grad=True)
    assert hard_sign(x).tolist() == [-1, 0, 0, 1]
    assert hard_sign(x, 1).tolist() == [-1, 1, 1, 1]
    hard_sign(x).sum().backward()
    assert torch.equal(x.grad, 1 - torch.tanh(x.detach()) ** 2)


@pytest.mark.parametrize("form", ["ef", "abs"])
def test_gradient_of_an_mf_product_is_that_of_its_definition(form):
    x, w = doubles(5, 4), doubles(4, 3)
    gradient = torch.randn(5, 3).double()
    functional.mf_matmul(x, w, form=form).backward(gradient)
    a, b = x.detach(), w.detach()
    smooth_a, smooth_b = 1 - a.tanh() ** 2, 1 - b.tanh() ** 2
    if form == "ef":  # a sign(b) + sign(a) b
        expected_x = gradient @ b.sign().T + smooth_a * (gradient @ b.T)
        expected_w = a.sign().T @ gradient + smooth_b * (a.T @ gradient)
    else:  # |a| sign(b) + sign(a) |b|
        expected_x = a.sign() * (gradient @ b.sign().T) + smooth_a * (gradient @ b.abs().T)
        expected_w = b.sign() * (a.sign().T @ gradient) + smooth_b * (a.abs().T @ gradient)
    # 1e-12: a few roundings of float64 at values of order 1.
    assert torch.allclose(x.grad, expected_x, rtol=0, atol=1e-12)
    assert torch.allclose(w.grad, expected_w, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", ["ef", "abs"])
def test_gradient_of_a_convolution_is_that_of_its_matrix_product(form):
    x, w = doubles(2, 3, 5, 5), doubles(4, 3, 2, 2)
    y = functional.mf_conv2d(x, w, form=form, padding=(1, 0, 0, 1), stride=2)
    gradients = torch.autograd.grad(y.square().sum(), (x, w))
    padded = torch.nn.functional.pad(x, (0, 1, 1, 0))
    columns = torch.nn.functional.unfold(padded, 2, stride=2).transpose(1, 2)
    z = functional.mf_matmul(columns, w.flatten(1).t(), form=form).transpose(1, 2).reshape(y.shape)
    assert torch.equal(y, z)
    for got, expected in zip(gradients, torch.autograd.grad(z.square().sum(), (x, w)), strict=True):
        assert torch.allclose(got, expected, rtol=0, atol=1e-9)  # sums of some 100 terms up to 100


@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.wht(x, norm="shift"),
        lambda x: functional.wht(x, dims=2, block=4, order="sequency", inverse=True, norm="ortho"),
        lambda x: functional.sum_pool2d(x, (2, 4), 1, (1, 0)),
        lambda x: functional.soft_threshold(x, torch.tensor([0.7], dtype=x.dtype)),
        lambda x: functional.shift(x, torch.tensor([0.5], dtype=x.dtype)),
        lambda x: functional.accumulator(x, 0.25, 4),
    ],
)
def test_numerical_gradients(function):
    assert gradcheck(function, doubles(2, 1, 4, 8))


def test_the_threshold_has_the_gradient_of_minus_the_sign():
    x, t = torch.tensor([-3.0, -0.5, 0.5, 3.0]), torch.ones(4, requires_grad=True)
    functional.soft_threshold(x, t).sum().backward()
    assert t.grad.tolist() == [1, 0, 0, -1]


def test_a_wrapping_accumulator_passes_its_gradient_straight_through():
    x = torch.tensor([-9.0, 7.0, 8.0, 100.0], requires_grad=True)
    y = functional.accumulator(x, 1.0, 4, overflow="wrap")
    assert y.tolist() == [7, 7, -8, 4]
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1, 1]


def test_a_saturating_accumulator_has_no_gradient_past_its_ends():
    x = torch.tensor([-9.0, 7.0, 8.0], requires_grad=True)
    y = functional.accumulator(x, torch.tensor(1.0), torch.tensor(4.0))
    assert y.tolist() == [-8, 7, 7]
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 0]


@pytest.mark.parametrize("n", [1, 2, 64, 128, 4096])
def test_transform_is_its_own_inverse(n):
    x = torch.randint(-128, 128, (3, n)).double()
    y = functional.wht(x, norm="shift")
    assert torch.equal(functional.wht(y, norm="shift", inverse=True), x)


def test_long_transforms_are_products_with_the_matrix():
    n = 256
    rows = np.array([[(-1) ** (i & j).bit_count() for j in range(n)] for i in range(n)])
    assert torch.equal(functional.wht(torch.eye(n)), torch.from_numpy(rows).float())
    changes = (np.diff(functional.wht(torch.eye(n), order="sequency").numpy().T, axis=1) != 0).sum(axis=1)
    assert changes.tolist() == list(range(n))


@pytest.mark.parametrize("function", [functional.mf_mul, functional.mf_matmul, functional.mf_conv2d])
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"form": "eff"}, "`form` must be one of ef, abs, not 'eff'; did you mean `ef`?"),
        ({"sign_zero": -1}, "`sign_zero` must be one of 0, 1, not -1"),
        ({"grid": "shard"}, "`grid` must be one of split, shared, aligned, not 'shard'; did you mean `shared`?"),
    ],
)
def test_unknown_options_of_mf_products(function, options, sentence):
    with pytest.raises(FormatError) as error:
        function(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1), **options)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda: functional.wht(torch.ones(2, 12)),
            ShapeError,
            "the length of a Walsh-Hadamard transform must be a power of two, not 12; pad the axis or choose a block",
        ),
        (
            lambda: functional.wht(torch.ones(8)),
            ShapeError,
            "`dims` 1 of a transform needs 1 axes behind the batch, not shape (8,)",
        ),
        (
            lambda: functional.wht(torch.ones(1, 8), norm="ortho"),
            FormatError,
            "`norm` ortho of length 8 needs a factor 1/sqrt(2), which is no power of two; use shift",
        ),
        (
            lambda: functional.wht(torch.ones(1, 8), order="sequence"),
            FormatError,
            "`order` must be one of natural, sequency, dyadic, not 'sequence'; did you mean `sequency`?",
        ),
        (
            lambda: functional.mf_matmul(torch.ones(2, 3), torch.ones(4, 5)),
            ShapeError,
            "x (2, 3) must end in K, and w must end in [K, O], not (4, 5)",
        ),
        (
            lambda: functional.mf_conv2d(torch.ones(1, 3, 4, 4), torch.ones(2, 2, 1, 1)),
            ShapeError,
            "x must be [N, C, H, W] and w [O, C / groups, kh, kw] with `groups` 1, not (1, 3, 4, 4) and (2, 2, 1, 1)",
        ),
        (
            lambda: functional.mf_conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 3, 3), dilation=2, padding=1),
            ShapeError,
            "a window of 5 does not fit the padded plane of 4 of an input (1, 1, 2, 2)",
        ),
        (
            lambda: functional.mf_conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1), padding=-1),
            ShapeError,
            "`padding` must be one, two or four ints of at least 0, not -1",
        ),
        (
            lambda: functional.mf_conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 1), stride=(1, 0)),
            ShapeError,
            "`stride` must be one or two ints of at least 1, not (1, 0)",
        ),
        (
            lambda: functional.sum_pool2d(torch.ones(1, 1, 6, 6), 3),
            FormatError,
            "the area of a mean's window must be a power of two, not 3 x 3 = 9",
        ),
        (
            lambda: functional.accumulator(torch.ones(1), 1.0, 8, overflow="clip"),
            FormatError,
            "`overflow` must be one of saturate, wrap, not 'clip'",
        ),
    ],
)
def test_refused(call, kind, sentence):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == sentence
