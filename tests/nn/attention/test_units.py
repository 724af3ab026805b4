"""Every preset against its formula in numpy, in float64; and what holds for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from mfsim.errors import UnsupportedOpError
from mfsim.nn import functional
from mfsim.nn.attention import PRESETS, Attention
from mfsim.ops.power_of_two.torch import power_of_two
from tests.nn.attention import naive

# Sums of at most 100 terms of size 1 in float64, in another order than numpy's.
ROUNDING = {"rtol": 0, "atol": 1e-12}


def unit_and_tokens(name, width=32, grid=4, seed=0, **parts):
    """Return a float64 unit whose every parameter is random, and tokens for it."""
    torch.manual_seed(seed)
    unit = Attention(replace(PRESETS[name], **parts), width, grid * grid + 1).double().eval()
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.copy_(torch.randn_like(parameter) / 3)
    return unit, torch.randn(2, grid * grid + 1, width, dtype=torch.float64)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "mf-attention"])
def test_every_preset_is_its_formula(name):
    width = {"hadamard-o-pad": 24, "hadamard-o-block": 48}.get(name, 32)
    unit, x = unit_and_tokens(name, width)
    assert np.allclose(unit(x).detach().numpy(), naive.output(name, unit, x.numpy()), **ROUNDING)


@pytest.mark.parametrize("name", ["qkv", "qkk", "qvv3", "qvv4relu"])
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_grouped_heads(name, kv_heads):
    unit, x = unit_and_tokens(name, kv_heads=kv_heads)
    assert np.allclose(unit(x).detach().numpy(), naive.output(name, unit, x.numpy()), **ROUNDING)


@pytest.mark.parametrize("name", ["qkv", "gqa", "qk-dctk", "qk-mfqk", "wqk-novo", "symmetric"])
def test_causal_units_see_no_later_token(name):
    unit, x = unit_and_tokens(name, causal=True)
    assert np.allclose(unit(x).detach().numpy(), naive.output(name, unit, x.numpy()), **ROUNDING)
    changed = x.clone()
    changed[:, 7:] += 1
    assert torch.equal(unit(changed)[:, :7], unit(x)[:, :7])
    assert not torch.equal(unit(changed)[:, 7:], unit(x)[:, 7:])


def test_mf_attention_is_mf_products_all_the_way():
    unit, x = unit_and_tokens("mf-attention")
    with torch.no_grad():
        for norm in (unit.query_norm, unit.key_norm, unit.value_norm, unit.output_norm):
            norm.gain.copy_(2.0 ** torch.randint(-3, 3, (32,)))
        unit.output_norm.running_mean.normal_()

    def rows(layer, norm, y):
        return norm(functional.mf_matmul(y, layer.weight.t()))

    q, k, v = (
        rows(layer, norm, x).unflatten(-1, (4, 8)).transpose(1, 2)
        for layer, norm in ((unit.query, unit.query_norm), (unit.key, unit.key_norm), (unit.value, unit.value_norm))
    )
    t = torch.tanh(functional.mf_matmul(q, k.transpose(2, 3)) / 8**0.5)
    sums = t.abs().sum(-1, keepdim=True) + 1e-6
    weights = t * 2.0 ** -torch.round(torch.log2(sums))
    heads = functional.mf_matmul(weights, v).transpose(1, 2).flatten(2)
    assert torch.allclose(unit(x), rows(unit.output, unit.output_norm, heads), **ROUNDING)


def test_power_of_two_projections_are_dense_ones_with_such_weights():
    unit, x = unit_and_tokens("qvv3", projection="power-of-two", output="power-of-two")
    dense, _ = unit_and_tokens("qvv3")
    powers = {name: t if name.endswith("bias") else power_of_two(t) for name, t in unit.state_dict().items()}
    dense.load_state_dict(powers)
    assert torch.allclose(unit(x), dense(x), **ROUNDING)


def test_cross_attention_takes_keys_and_values_from_a_memory():
    unit, x = unit_and_tokens("qvv3")
    memory = torch.randn(2, 5, 32, dtype=torch.float64)
    q = torch.einsum("bthi,hoi->bhto", unit.query(x).unflatten(-1, (4, 8)), unit.chain[0].weight.reshape(4, 8, 8))
    v = unit.value(memory).unflatten(-1, (4, 8)).transpose(1, 2)
    heads = torch.softmax(q @ v.transpose(2, 3) / 8**0.5, -1) @ v
    assert torch.allclose(unit(x, memory), unit.output(heads.transpose(1, 2).flatten(2)), **ROUNDING)
    assert torch.allclose(unit(x, x.clone()), unit(x), **ROUNDING)


def test_symmetric_cross_attention_projects_both_sequences_alike():
    unit, x = unit_and_tokens("symmetric")
    assert torch.allclose(unit(x, x.clone()), unit(x), **ROUNDING)


def test_rotated_scores_depend_on_distances_alone():
    unit, x = unit_and_tokens("qvv3", rope=True, output="none", causal=True)
    repeated = x[:, :1].expand(-1, 17, -1)
    seen = []
    unit.scores.register_forward_hook(lambda module, arguments, result: seen.append(result))
    result = unit(repeated)
    (scores,) = seen
    for distance in (1, 5):
        diagonal = scores.diagonal(-distance, 2, 3)
        assert torch.allclose(diagonal, diagonal[..., :1].expand_as(diagonal), rtol=0, atol=1e-5)  # float32 angles
    assert not torch.allclose(scores.diagonal(-1, 2, 3)[..., 0], scores.diagonal(0, 2, 3)[..., 0], rtol=0, atol=1e-2)
    # Values are not rotated: a mean of equal ones is each of them.
    assert torch.allclose(result, unit.value(repeated), **ROUNDING)


def test_a_filterbank_has_one_fusion_for_queries_and_keys():
    unit, x = unit_and_tokens("sq-sk-sk")
    assert unit.query_transform.fusion is unit.key_transform.fusion
    unit(x).sum().backward()
    assert unit.key_transform.fusion.grad.abs().max() > 0


@pytest.mark.parametrize("name", PRESETS)
def test_every_parameter_of_every_preset_learns(name):
    width = 48 if name.startswith("hadamard-o-") and "pow2" not in name else 32
    unit, x = unit_and_tokens(name, width)
    unit.train()(x).square().sum().backward()
    idle = {key for key, parameter in unit.named_parameters() if parameter.grad is None or not parameter.grad.any()}
    # A constant that all scores of a row share does not change a softmax.
    assert idle <= {"key.bias"}


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"causal": True}, "an attention unit with `causal` cannot attend to a `memory` of other tokens"),
        ({"rope": True}, "an attention unit with `rope` cannot attend to a `memory` of other tokens"),
        ({"value": "mf"}, "an attention unit with `value` mf cannot attend to a `memory` of other tokens"),
    ],
)
def test_units_that_cannot_attend_to_a_memory(parts, sentence):
    unit, x = unit_and_tokens("qkv", **parts)
    with pytest.raises(UnsupportedOpError) as error:
        unit(x, x)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "width"), [("hadamard-o", 32), ("hadamard-o", 16), ("hadamard-o-block", 24), ("hadamard-o-pow2", 16)]
)
def test_a_fresh_hadamard_output_keeps_lengths(name, width):
    unit = Attention(PRESETS[name], width, 5).double()
    x = torch.randn(3, width, dtype=torch.float64)
    mixed = unit.affine(unit.hadamard(x))
    # 1e-6: the gains are float32.
    assert torch.allclose(mixed.square().sum(-1), x.square().sum(-1), rtol=1e-6, atol=0)


def test_fresh_matrices_w_r_are_near_the_identity():
    torch.manual_seed(0)
    for layer in Attention(PRESETS["qvv4"], 64, 5).chain:
        noise = layer.weight.detach().reshape(4, 16, 16) - torch.eye(16)
        assert 0.018 < float(noise.std()) < 0.022  # 1024 draws of 0.02
