"""The layers that token networks are made of beside the usual ones: what they compute, and what they refuse."""

from __future__ import annotations

import pytest
import torch

from mfsim.errors import FormatError, ShapeError
from mfsim.nn import Add, MatMul, MFMatMul, Mul, TokenEmbedding


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def small(*shape):
    return torch.randint(-8, 8, shape) / 4


@pytest.mark.parametrize("transpose_b", [False, True])
def test_matrix_product_of_two_activations_is_the_sum_of_its_terms(transpose_b):
    a, b = small(2, 3, 4, 5), small(2, 3, 5, 6)
    expected = (a[..., :, :, None] * b[..., None, :, :]).sum(-2)
    given = b.transpose(-1, -2) if transpose_b else b
    assert torch.equal(MatMul(transpose_b)(a, given), expected)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("form", ["ef", "abs"])
@pytest.mark.parametrize("sign_zero", [0, 1])
def test_mf_product_of_two_activations_is_the_sum_of_its_terms(transpose_b, form, sign_zero):
    a, b = small(2, 4, 5), small(2, 5, 6)

    def sign(x):
        return torch.where(x == 0, float(sign_zero), torch.sign(x))

    x, w = a[..., :, :, None], b[..., None, :, :]
    terms = sign(w) * x + sign(x) * w if form == "ef" else sign(w) * x.abs() + sign(x) * w.abs()
    given = b.transpose(-1, -2) if transpose_b else b
    layer = MFMatMul(form=form, sign_zero=sign_zero, transpose_b=transpose_b)
    assert torch.equal(layer(a, given), terms.sum(-2))


def test_sum_and_product_broadcast():
    a, b = small(2, 3, 4), small(1, 3, 1)
    assert torch.equal(Add()(a, b), a + b)
    assert torch.equal(Mul()(a, b), a * b)


def test_class_token_stands_in_front_and_every_token_has_its_position():
    layer = TokenEmbedding(3, 2)
    with torch.no_grad():
        layer.positions.copy_(torch.arange(8.0).reshape(1, 4, 2))
        layer.class_token.copy_(torch.tensor([[[10.0, 20.0]]]))
    x = small(5, 3, 2)
    y = layer(x)
    assert torch.equal(y[:, 0], torch.tensor([10.0, 21.0]).expand(5, 2))
    assert torch.equal(y[:, 1:], x + torch.arange(2.0, 8.0).reshape(1, 3, 2))


def test_without_a_class_token_only_positions_are_added():
    layer = TokenEmbedding(3, 2, class_token=False)
    x = small(5, 3, 2)
    assert torch.equal(layer(x), x + layer.positions)
    assert [name for name, _ in layer.named_parameters()] == ["positions"]


def test_embedding_trains_both_of_its_parameters():
    layer = TokenEmbedding(3, 2)
    layer(small(1, 3, 2)).sum().backward()
    assert layer.positions.grad.tolist() == [[[1.0, 1.0]] * 4]
    assert layer.class_token.grad.tolist() == [[[1.0, 1.0]]]


def test_reprs_say_what_the_layers_are():
    assert repr(MatMul()) == "MatMul(transpose_b=False)"
    assert repr(MFMatMul("abs", transpose_b=True)) == "MFMatMul(form=abs, sign_zero=0, grid=split, transpose_b=True)"
    assert repr(TokenEmbedding(3, 2)) == "TokenEmbedding(3, 2, class_token=True)"


@pytest.mark.parametrize(
    ("make", "kind", "sentence"),
    [
        (
            lambda: MatMul()(torch.ones(2, 3), torch.ones(4, 3)),
            ShapeError,
            "a (2, 3) must end in [M, K], and b must end in [K, O], not (4, 3)",
        ),
        (
            lambda: MFMatMul(transpose_b=True)(torch.ones(2, 3), torch.ones(3, 4)),
            ShapeError,
            "a (2, 3) must end in [M, K], and b must end in [O, K], not (3, 4)",
        ),
        (lambda: MFMatMul(form="af"), FormatError, "`form` must be one of ef, abs, not 'af'"),
        (lambda: TokenEmbedding(0, 3), ShapeError, "`tokens` and `width` must be at least 1, not 0 and 3"),
        (lambda: TokenEmbedding(3, 2)(torch.ones(1, 4, 2)), ShapeError, "x must be [N, 3, 2], not [1, 4, 2]"),
    ],
)
def test_wrong_use_is_refused(make, kind, sentence):
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == sentence
