"""Fixed transforms of features, element-wise MF, gains, rotations, triangles: values, gradients, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
import torch

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import DCT, Affine, DFTMagnitude, Filterbank, MFMul, Rope, TriangularLinear

# Sums of at most 100 terms of size 1 in float64, in another order.
ROUNDING = {"rtol": 0, "atol": 1e-13}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 32, 48])
def test_cosine_transform(n):
    x = torch.randn(3, 4, n, dtype=torch.float64)
    y = DCT(n)(x)
    assert np.allclose(y, scipy.fft.dct(x.numpy(), norm="ortho"), **ROUNDING)
    assert np.allclose(DCT(n).matrix() @ DCT(n).matrix().T, np.eye(n), **ROUNDING)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 32])
def test_magnitudes_of_the_fourier_transform(n):
    x = torch.randn(3, 4, n, dtype=torch.float64, requires_grad=True)
    y = DFTMagnitude(n)(x)
    assert np.allclose(y.detach(), np.abs(scipy.fft.fft(x.detach().numpy(), norm="ortho")), **ROUNDING)
    assert torch.allclose(y[..., 1:], y[..., 1:].flip(-1), **ROUNDING)
    assert torch.autograd.gradcheck(DFTMagnitude(n), (x,))


def test_a_magnitude_of_zero_has_no_gradient():
    x = torch.zeros(4, requires_grad=True)
    DFTMagnitude(4)(x).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("form", "expected"), [("ef", [5.0, -5.0, 3.0]), ("abs", [-5.0, 1.0, 3.0])])
def test_element_wise_operator(form, expected):
    # The two forms differ: q = -2, k = -3 and q = 2, k = -3; the sign of 0 is +1 here.
    q, k = torch.tensor([-2.0, 2.0, 0.0]), torch.tensor([-3.0, -3.0, 3.0])
    assert MFMul(form, sign_zero=1)(q, k).tolist() == expected
    assert MFMul(form)(q, k)[2] == 0


def test_affine():
    layer = Affine(3, initial=0.5)
    with torch.no_grad():
        layer.alpha[1], layer.beta[2] = -3.0, 7.0
    assert layer(torch.ones(2, 3)).tolist() == [[0.5, -3.0, 7.5]] * 2


def test_power_of_two_gains_are_rounded_forward_and_learn_backward():
    layer = Affine(4, "power-of-two", initial=0.25)
    assert layer.gains().tolist() == [0.25] * 4
    with torch.no_grad():
        layer.log_alpha.copy_(torch.tensor([-0.4, 0.6, 100.0, -1.6]))
    assert layer.gains().tolist() == [1.0, 2.0, 2.0**30, 0.25]
    layer(torch.ones(4))[:2].sum().backward()
    # d 2^k / dk at the rounded k, 0 where it is not used.
    assert torch.allclose(
        layer.log_alpha.grad[:2], torch.tensor([1.0, 2.0]).log() * 0 + 0.6931472 * torch.tensor([1.0, 2.0])
    )
    assert layer.alpha is None


def test_rotations():
    rope = Rope(4, 8, base=100.0).double()
    x = torch.randn(2, 8, 4, dtype=torch.float64)
    pairs = torch.complex(x[..., :2], x[..., 2:])
    angles = torch.arange(8)[:, None] * torch.tensor([1.0, 0.1], dtype=torch.float64)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    # 1e-6: sines and cosines are float32.
    assert torch.allclose(rope(x), torch.cat((turned.real, turned.imag), -1), rtol=0, atol=1e-6)
    assert torch.equal(rope(x[:, 3:5], 3), rope(x)[:, 3:5])
    assert rope.state_dict() == {}


def test_triangle():
    layer = TriangularLinear(3)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(1.0, 7.0))
    assert layer.matrix().tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    assert layer(torch.eye(3)).tolist() == layer.matrix().tolist()
    layer(torch.ones(3)).sum().backward()
    assert layer.weight.grad.tolist() == [1.0] * 6


def test_estimates_of_magnitudes():
    x = torch.randn(50, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    bins = np.fft.fft(x.detach().numpy(), norm="ortho")
    parts = np.sort(np.abs(np.stack((bins.real, bins.imag))), 0)
    expected = np.maximum(parts[1] + parts[0] / 8, parts[1] * 7 / 8 + parts[0] / 2)
    y = DFTMagnitude(16, "alpha-beta")(x)
    assert np.allclose(y.detach().numpy(), expected, **ROUNDING)
    ratio = y.detach().numpy() / np.abs(bins)
    assert (ratio.min() > 0.9722, ratio.max() < 1.0078) == (True, True)
    assert torch.autograd.gradcheck(DFTMagnitude(16, "csd"), (x[:2],))


def test_reprs():
    shown = [DCT(4), DFTMagnitude(4), MFMul("abs"), Affine(4), Rope(4, 9), TriangularLinear(4), Filterbank(2, 3)]
    assert [repr(layer) for layer in shown] == [
        "DCT(4)",
        "DFTMagnitude(4)",
        "MFMul(form=abs, sign_zero=0, grid=split)",
        "Affine(4, alpha=free)",
        "Rope(4, tokens=9, base=10000)",
        "TriangularLinear(4)",
        "Filterbank(2, grid=3, passing=1, normalise=False)",
    ]


@pytest.mark.parametrize(
    ("use", "kind", "sentence"),
    [
        (lambda: DCT(0), ShapeError, "`length` of a cosine transform must be at least 1, not 0"),
        (lambda: DCT(4)(torch.ones(3)), ShapeError, "a cosine transform of length 4 does not suit x (3,)"),
        (lambda: DFTMagnitude(0), ShapeError, "`length` of a Fourier transform must be at least 1, not 0"),
        (
            lambda: DFTMagnitude(4)(torch.ones(2, 3)),
            ShapeError,
            "a Fourier transform of length 4 does not suit x (2, 3)",
        ),
        (lambda: MFMul("af"), FormatError, "`form` must be one of ef, abs, not 'af'"),
        (lambda: Affine(0), ShapeError, "`width` of an affine layer must be at least 1, not 0"),
        (
            lambda: Affine(1, "power-of-tow"),
            FormatError,
            "`alpha` must be one of free, power-of-two, not 'power-of-tow'; did you mean `power-of-two`?",
        ),
        (lambda: Affine(1, initial=0), FormatError, "`initial` of an affine layer must be above 0, not 0"),
        (lambda: Affine(2)(torch.ones(3)), ShapeError, "an affine layer of width 2 does not suit x (3,)"),
        (lambda: Rope(3, 1), ShapeError, "rotary positions need a head width that is even, not 3"),
        (lambda: Rope(4, 0), ShapeError, "`tokens` of rotary positions must be at least 1, not 0"),
        (lambda: Rope(4, 1, 1.0), FormatError, "`base` of rotary positions must be above 1, not 1.0"),
        (
            lambda: Rope(4, 5)(torch.ones(3, 4), 3),
            ShapeError,
            "rotary positions of 5 tokens of width 4 do not suit x (3, 4) from position 3 on",
        ),
        (lambda: TriangularLinear(0), ShapeError, "`width` of a triangular layer must be at least 1, not 0"),
        (lambda: TriangularLinear(2)(torch.ones(3)), ShapeError, "a triangular layer of width 2 does not suit x (3,)"),
        (
            lambda: Filterbank(0, 4),
            ShapeError,
            "`heads` and `grid` of a filterbank must be at least 1 and `passing` at least 0, not 0, 4 and 1",
        ),
        (
            lambda: Filterbank(2, 4)(torch.ones(2, 16, 3)),
            ShapeError,
            "a filterbank of 2 heads over 4 x 4 patches and 1 passing tokens does not suit x (2, 16, 3)",
        ),
    ],
)
def test_refused(use, kind, sentence):
    with pytest.raises(kind) as error:
        use()
    assert str(error.value) == sentence
