"""Folded units compute what they computed, with fewer matrices."""

from __future__ import annotations

import pytest
import torch

from mfsim.nn import models
from mfsim.nn.attention import PRESETS, fold_attention
from tests.nn.attention.test_units import unit_and_tokens

# Matrices of at most 100 x 100 of size 1 multiplied in float64: sums of 10000 terms.
ROUNDING = {"rtol": 0, "atol": 1e-11}


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def equal_and_saved(unit, x, **options):
    """Return how many parameters folding saves, having compared outputs; the unit itself is left alone."""
    before = {name: tensor.clone() for name, tensor in unit.state_dict().items()}
    folded = fold_attention(unit, **options)
    assert torch.allclose(folded(x), unit(x), **ROUNDING)
    after = unit.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    return folded, parameters(unit) - parameters(folded)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("collapse", [False, True])
def test_every_preset_stays_what_it_was(name, collapse):
    width = 48 if name.startswith("hadamard-o-") and "pow2" not in name else 32
    unit, x = unit_and_tokens(name, width)
    equal_and_saved(unit, x, collapse=collapse)


@pytest.mark.parametrize(
    ("name", "parts", "chain", "saved"),
    [
        ("qvv3", {}, 0, 256),
        ("qvv4", {}, 0, 512),
        ("qvv4relu", {}, 1, 256),
        ("qkv3", {"kv_heads": 2}, 0, 256),
        ("qvv3", {"bias": False}, 0, 256),
        ("qvv3", {"rope": True}, 0, 256),
        ("qvv3", {"similarity": "mf"}, 0, 256),
        ("qvv3", {"projection": "mf"}, 1, 0),
        ("qvv3", {"projection_norm": "shift-batch"}, 0, 256),
    ],
)
def test_w_r_goes_into_w_q(name, parts, chain, saved):
    unit, x = unit_and_tokens(name, **parts)
    folded, fewer = equal_and_saved(unit, x)
    assert (len(folded.chain), folded.config.chain, fewer) == (chain, chain, saved)


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ({}, "none"),
        ({"heads": 2}, "none"),
        ({"kv_heads": 1}, "none"),
        ({"normaliser": "tanh_l1"}, "none"),
        ({"key_transform": "wht"}, "none"),
        ({"value": "projection"}, "none"),
        ({"projection_norm": "shift-batch"}, "none"),
        ({"aggregation": "mf"}, "the transform"),
        ({"output": "none"}, "the transform"),
        ({"output": "mf"}, "the transform"),
        ({"output": "hadamard"}, "the transform"),
    ],
)
@pytest.mark.parametrize("transform", ["dct", "wht"])
def test_a_transform_of_values_goes_into_w_o(parts, left, transform):
    unit, x = unit_and_tokens("qkk", **{"value_transform": transform, **parts})
    folded, fewer = equal_and_saved(unit, x)
    assert folded.config.value_transform == (transform if left != "none" else "none")
    assert fewer == 0
    kept = [n for n, m in folded.named_modules() if n == "value_transform" and m is not None]
    assert bool(kept or folded._shares_transform()) == (left != "none") or folded.config.key_transform == "none"


@pytest.mark.parametrize("name", ["qk-dftk", "qk-sk", "q-sk-sk"])
def test_what_is_not_linear_or_mixes_tokens_stays(name):
    unit, x = unit_and_tokens(name)
    folded, _ = equal_and_saved(unit, x)
    assert folded.config == unit.config


def test_the_triangle_becomes_a_dense_layer():
    unit, x = unit_and_tokens("cholesky")
    folded, fewer = equal_and_saved(unit, x)
    assert type(folded.query) is torch.nn.Linear
    assert torch.equal(folded.query.weight, unit.query.matrix().t())
    assert fewer == 32 * 33 // 2 - 32 * 32


@pytest.mark.parametrize(
    ("name", "parts", "key", "output", "saved"),
    [
        ("qkv", {"heads": 1}, "input", "none", 2 * (32 * 32 + 32)),
        ("qkv", {"heads": 1, "bias": False}, "input", "none", 2 * 32 * 32),
        ("qkv", {"heads": 1, "causal": True, "normaliser_form": "log"}, "input", "none", 2 * (32 * 32 + 32)),
        ("qkv3", {"heads": 1}, "input", "none", 2 * (32 * 32 + 32) + 32 * 32),
        ("wqk", {}, "input", "none", 32 * 32 + 32),
        ("qkv", {"heads": 1, "normaliser_form": "shift"}, "input", "dense", 32 * 32 + 32),
        ("qkv", {"heads": 1, "rope": True}, "projection", "none", 32 * 32 + 32),
        ("qkv", {"heads": 1, "similarity": "mf"}, "projection", "none", 32 * 32 + 32),
        ("qkk", {"heads": 1}, "projection", "dense", 0),
        ("qkv", {}, "projection", "dense", 0),
        ("qkv", {"heads": 1, "normaliser": "tanh_l1"}, "projection", "dense", 0),
        ("symmetric", {"heads": 1}, "query", "none", 32 * 32 + 32),
    ],
)
def test_collapsed_matrices(name, parts, key, output, saved):
    unit, x = unit_and_tokens(name, **parts)
    folded, fewer = equal_and_saved(unit, x, collapse=True)
    assert (folded.config.key, folded.config.output, fewer) == (key, output, saved)
    assert fold_attention(unit).config.key == unit.config.key


def test_whole_networks_fold():
    model = models.create("mini-vit", attention="qvv3", width=32, depth=2, heads=4, seed=0).double()
    folded = fold_attention(model)
    x = torch.rand(2, 1, 8, 8, dtype=torch.float64)
    assert torch.allclose(folded(x), model(x), **ROUNDING)
    assert parameters(model) - parameters(folded) == 2 * 4 * 8 * 8
    assert model.blocks[1].attention.config.chain == 1


def test_float32_weights_are_multiplied_in_float64():
    unit, x = unit_and_tokens("qvv4")
    exact = fold_attention(unit).query.weight
    unit.float()
    folded = fold_attention(unit)
    assert folded.query.weight.dtype == torch.float32
    # One rounding of each weight, of size up to 10, and of the two factors.
    assert torch.allclose(folded.query.weight.double(), exact, rtol=0, atol=1e-5)
    assert torch.allclose(folded(x.float()).double(), unit(x.float()).double(), rtol=0, atol=1e-4)
