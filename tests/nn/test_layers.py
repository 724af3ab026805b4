"""Layers with weights, shifts, thresholds and pools: what they compute, and what they refuse."""

from __future__ import annotations

import pytest
import torch

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import AvgPool2d, GlobalAvgPool2d, MFConv2d, MFLinear, Shift, SoftThreshold


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("form", ["ef", "abs"])
@pytest.mark.parametrize("sign_zero", [0, 1])
def test_linear_layer_is_the_sum_of_its_terms(form, sign_zero):
    layer = MFLinear(3, 2, form=form, sign_zero=sign_zero)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.5, -2.0, 0.0], [0.0, 1.0, -0.25]]))
        layer.bias.copy_(torch.tensor([0.5, -1.0]))
    x = [-1.0, 0.0, 3.0]

    def sign(v):
        return (v > 0) - (v < 0) if v else sign_zero

    def term(a, w):
        return sign(w) * a + sign(a) * w if form == "ef" else sign(w) * abs(a) + sign(a) * abs(w)

    expected = [
        sum(term(a, w) for a, w in zip(x, row, strict=True)) + b
        for row, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True)
    ]
    assert layer(torch.tensor([x])).tolist() == [expected]
    assert layer(torch.tensor([[[x, x]]])).tolist() == [[[expected, expected]]]


def test_convolution_pads_before_it_takes_signs():
    layer = MFConv2d(1, 1, 2, padding=(1, 0, 0, 0), sign_zero=1)
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(4.0)
    # Two zeros of the padding have the sign +1: each gives 0.5. The bias is added once.
    assert layer(torch.ones(1, 1, 1, 2)).flatten().tolist() == [4 + 2 * 0.5 + 2 * 1.5]


def test_a_one_by_one_convolution_is_a_linear_layer_at_each_position():
    convolution, linear = MFConv2d(5, 3, 1), MFLinear(5, 3)
    with torch.no_grad():
        convolution.weight.copy_(linear.weight[:, :, None, None])
        convolution.bias.copy_(torch.tensor([1.0, -2.0, 0.5]))
        linear.bias.copy_(convolution.bias)
    x = torch.randint(-8, 8, (2, 5, 4, 3)) / 4
    # 1e-5: float32 sums of ten terms up to 2 in two orders.
    assert torch.allclose(convolution(x), linear(x.movedim(1, -1)).movedim(-1, 1), rtol=0, atol=1e-5)


def test_groups_are_convolutions_of_their_own():
    layer = MFConv2d(4, 6, 3, padding=1, groups=2, bias=False)
    x = torch.randn(2, 4, 5, 5)
    halves = []
    for k in range(2):
        half = MFConv2d(2, 3, 3, padding=1, bias=False)
        half.weight = torch.nn.Parameter(layer.weight[3 * k : 3 * k + 3])
        halves.append(half(x[:, 2 * k : 2 * k + 2]))
    # 1e-5: float32 sums of 36 terms up to 3 in two orders.
    assert torch.allclose(layer(x), torch.cat(halves, 1), rtol=0, atol=1e-5)


def test_shift_keeps_its_exponents():
    layer = Shift([-3, 0, 5], axis=-3)
    assert layer.exponents == (-3, 0, 5)
    assert layer.gain.shape == (3, 1, 1)
    assert layer(torch.ones(1, 3, 1, 1)).flatten().tolist() == [0.125, 1, 32]
    assert Shift([-62, 62]).exponents == (-62, 62)


def test_thresholds_are_never_negative():
    layer = SoftThreshold(2, axis=-3, initial=0.5)
    with torch.no_grad():
        layer.weight[1] = -1.0
    assert layer.thresholds().flatten().tolist() == [0.5, 1.0]
    x = torch.tensor([-2.0, -0.75, 0.75, 2.0]).reshape(1, 2, 2, 1)
    assert layer(x).flatten().tolist() == [-1.5, -0.25, 0, 1.0]
    assert SoftThreshold(1, initial=1.0)(torch.tensor([3.0, -3.0])).tolist() == [2, -2]


def test_means():
    x = torch.arange(32.0).reshape(1, 2, 4, 4)
    assert GlobalAvgPool2d()(x).flatten().tolist() == [7.5, 23.5]
    assert AvgPool2d(2)(x)[0, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert AvgPool2d(2, stride=4, padding=1)(x + 4)[0, 0].tolist() == [[1.0, 1.75], [4.0, 4.75]]  # zeros count
    with pytest.raises(FormatError) as error:
        GlobalAvgPool2d()(torch.ones(1, 1, 7, 7))
    assert str(error.value) == "the area of a mean's window must be a power of two, not 7 x 7 = 49"


def test_reprs_say_what_the_layers_are():
    assert repr(MFLinear(3, 2)) == "MFLinear(3, 2, bias=True, form=ef, sign_zero=0, grid=split)"
    assert repr(MFConv2d(1, 2, 3, padding=1, form="abs", bias=False)) == (
        "MFConv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1), dilation=(1, 1), groups=1, "
        "bias=False, form=abs, sign_zero=0, grid=split)"
    )
    assert repr(Shift([1, -2])) == "Shift(exponents=-2..1, axis=-1)"
    assert repr(SoftThreshold(4)) == "SoftThreshold(4, axis=-1)"
    assert repr(AvgPool2d(2)) == "AvgPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0, 0, 0))"


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (lambda: MFLinear(0, 3), ShapeError, "`in_features` and `out_features` must be at least 1, not 0 and 3"),
        (lambda: MFLinear(1, 1, form="af"), FormatError, "`form` must be one of ef, abs, not 'af'"),
        (
            lambda: MFConv2d(3, 4, 3, groups=2),
            ShapeError,
            "`in_channels` 3 and `out_channels` 4 must be multiples of `groups`, which is 2",
        ),
        (lambda: MFConv2d(1, 1, 0), ShapeError, "`kernel_size` must be one or two ints of at least 1, not 0"),
        (lambda: Shift([]), FormatError, "`exponents` must be ints in -62..62, not []"),
        (lambda: Shift([63]), FormatError, "`exponents` must be ints in -62..62, not [63]"),
        (lambda: Shift([1], axis=1), FormatError, "`axis` must be counted from the end (-1 is the last), not 1"),
        (lambda: SoftThreshold(0), ShapeError, "`size` of a soft threshold must be at least 1, not 0"),
        (
            lambda: SoftThreshold(2, initial=-1.0),
            FormatError,
            "`initial` of a soft threshold must be at least 0, not -1.0",
        ),
        (
            lambda: SoftThreshold(3)(torch.ones(2, 4)),
            ShapeError,
            "a soft threshold of 3 entries along axis -1 does not suit x (2, 4)",
        ),
        (lambda: AvgPool2d(3), FormatError, "the area of a mean's window must be a power of two, not 3 x 3 = 9"),
    ],
)
def test_refused(make, kind, sentence):
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == sentence
