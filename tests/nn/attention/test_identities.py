"""Identities across the papers, in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.nn import functional
from mfsim.nn.attention import PRESETS, Attention
from mfsim.nn.filterbank import COUNT, Filterbank, filters
from tests.nn.attention.test_units import ROUNDING, unit_and_tokens


def test_qkk_is_qvv2():
    qkk, x = unit_and_tokens("qkk")
    qvv2, _ = unit_and_tokens("qvv2", seed=1)
    weights = qkk.state_dict()
    qvv2.load_state_dict({name.replace("key.", "value."): tensor for name, tensor in weights.items()})
    assert torch.equal(qkk(x), qvv2(x))


def test_a_transform_in_each_head_then_across_all_is_the_one_across_heads_only():
    x = torch.randint(-9, 10, (5, 4 * 8)).double()
    both = functional.wht(functional.wht(x, block=8))
    across = functional.wht(x.reshape(5, 4, 8).transpose(1, 2)).transpose(1, 2).reshape(5, 32)
    assert torch.equal(both, 8 * across)


def test_qk_whtk_with_a_hadamard_output_transforms_across_heads_only():
    unit, x = unit_and_tokens("qk-whtk", output="hadamard")
    plain, _ = unit_and_tokens("qkk", output="none")
    plain.load_state_dict({n: t for n, t in unit.state_dict().items() if not n.startswith("affine")})
    heads = plain(x).unflatten(-1, (4, 8)).transpose(-1, -2)
    # 2**-1 in each head and 2**-2 across 32 values, of which 8 are taken back.
    mixed = functional.wht(heads).transpose(-1, -2).flatten(-2) * (8 / 2 / 4)
    assert torch.allclose(unit(x), unit.affine(mixed), **ROUNDING)


@pytest.mark.parametrize("name", ["symmetric", "cholesky"])
def test_symmetric_scores(name):
    unit, x = unit_and_tokens(name)
    seen = []
    unit.scores.register_forward_hook(lambda module, arguments, result: seen.append(result))
    unit(x)
    assert torch.allclose(seen[0], seen[0].transpose(-1, -2), **ROUNDING)
    # Gram matrices: no direction in which they are negative, but for rounding.
    assert torch.linalg.eigvalsh(seen[0]).min() > -1e-9


def test_cholesky_is_a_full_symmetric_similarity():
    unit, _ = unit_and_tokens("cholesky")
    with torch.no_grad():
        rows, columns = torch.tril_indices(32, 32)
        unit.query.weight[rows == columns] = 2.0  # far from singular
    t = unit.query.matrix()
    assert torch.equal(t, t.tril())
    assert torch.count_nonzero(t) == 32 * 33 // 2 == unit.query.weight.numel()
    factor = torch.linalg.cholesky(t @ t.t())  # t itself: its diagonal is positive
    assert torch.allclose(factor, t, rtol=0, atol=1e-6)  # conditions up to 1e8 in float64


def test_the_filterbank_is_linear_and_block_circulant():
    bank = Filterbank(3, 4).double()
    nn.init.normal_(bank.fusion)
    matrix = bank.matrix().detach()
    a, b = torch.randn(2, 2, 3, 17, 5, dtype=torch.float64)
    assert torch.allclose(bank(2 * a - b), 2 * bank(a) - bank(b), **ROUNDING)
    assert torch.allclose(bank(a), torch.einsum("hij,nhjf->nhif", matrix, a), **ROUNDING)
    patches = matrix[:, 1:, 1:].reshape(3, 4, 4, 4, 4)
    # The same for every shift of input and output together: a circulant of circulants.
    for rows, columns in ((1, 0), (0, 1), (2, 3)):
        moved = patches.roll((rows, columns), (1, 2)).roll((rows, columns), (3, 4))
        assert torch.allclose(moved, patches, **ROUNDING)
    # Patches neither see the class token nor reach it.
    assert torch.equal(matrix[:, 0], torch.eye(17, dtype=torch.float64)[0].expand(3, -1))
    assert torch.equal(matrix[:, :, 0], torch.eye(17, dtype=torch.float64)[0].expand(3, -1))


def test_only_the_even_part_of_a_filter_counts():
    even = (filters(8) + np.roll(filters(8)[:, ::-1, ::-1], 1, (1, 2))) / 2
    assert np.allclose(
        np.fft.ifft2(filters(8)).real, np.fft.ifft2(even), rtol=0, atol=1e-15
    )  # sums of 64 terms below 1


def test_the_bank_as_it_was_derived():
    """Golden: sums over filters and uniform fusion on the 8 x 8 grid, computed apart in plain Python."""
    bank = filters(8)
    assert bank.shape == (COUNT, 8, 8) == (31, 8, 8)
    total = bank.sum(0)
    assert [round(float(v), 3) for v in (total.min(), total.max())] == [0.266, 3.945]
    assert [round(float(v), 4) for v in (total.min() / 31, total.max() / 31)] == [0.0086, 0.1273]
    gains = Filterbank(2, 8).gains()
    assert torch.allclose(gains, torch.from_numpy(total / 31).float().expand(2, -1, -1), rtol=0, atol=1e-6)  # float32
    assert torch.allclose(Filterbank(1, 8, normalise=True).matrix().sum(-1)[0, 1:], gains[0, 0, 0] / gains[0].max())


def test_the_products_of_values_chain_without_residuals():
    """x -> A x W_VO in each block equals A x in each block and one product of all W_VO at the end.

    The scores of a later block then take the product of the earlier ones on both sides.
    """
    torch.manual_seed(0)
    blocks = [Attention(replace(PRESETS["collapsed-vo"], bias=False), 8, 5).double() for _ in range(3)]
    chained = [Attention(replace(PRESETS["chained-vo"], bias=False), 8, 5).double() for _ in range(3)]
    product = torch.eye(8, dtype=torch.float64)
    for one, other in zip(blocks, chained, strict=True):
        other.query.weight = nn.Parameter(product.t() @ one.query.weight.detach() @ product)
        product = one.value.weight.detach() @ product
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    y, z = x, x
    for one, other in zip(blocks, chained, strict=True):
        y, z = one(y), other(z)
    assert torch.allclose(y, z @ product.t(), **ROUNDING)
