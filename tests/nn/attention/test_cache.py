"""Decoding token by token equals the whole sequence, and caches have the sizes that papers state."""

from __future__ import annotations

import pytest
import torch

from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.nn.attention import PRESETS, cache_bytes, cached_features, decode, fold_attention, prefill
from mfsim.nn.attention.config import AttentionConfig
from tests.nn.attention.test_units import ROUNDING, unit_and_tokens

DECODING = [name for name, config in PRESETS.items() if "filterbank" not in config.transforms.values()]


def decoded(unit, x, first):
    """Return all outputs, of which the first `first` come together, and the last cache."""
    y, cache = prefill(unit, x[:, :first])
    outputs = [y]
    for t in range(first, x.shape[1]):
        assert cache.tokens == t
        y, cache = decode(unit, x[:, t : t + 1], cache)
        outputs.append(y)
    return torch.cat(outputs, 1), cache


@pytest.mark.parametrize("name", DECODING)
@pytest.mark.parametrize("rope", [False, True])
def test_decoding_equals_the_whole_sequence(name, rope):
    width = 48 if name.startswith("hadamard-o-") and "pow2" not in name else 32
    unit, x = unit_and_tokens(name, width, causal=True, rope=rope)
    for module in (unit, fold_attention(unit)):
        for first in (1, 6):
            y, cache = decoded(module, x, first)
            assert torch.allclose(y, module(x), **ROUNDING)
            assert {entry: rows.shape[2] for entry, rows in cache.rows.items()} == cached_features(unit.config, width)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("qkv", {"similarity": "mf", "aggregation": "mf"}),
        ("qkv", {"value": "mf"}),
        ("wqk", {"value": "mf"}),
        ("qkv", {"value": "input"}),
        ("wqk", {"value": "key", "value_transform": "dft"}),
        ("qkk", {"key_transform": "wht", "value_transform": "wht", "rope": True}),
        ("gqa", {"key": "value", "normaliser_form": "shift"}),
        ("qkv", {"projection_norm": "shift-batch"}),
        ("wqk", {"projection_norm": "shift-batch"}),
    ],
)
def test_decoding_of_combinations(name, parts):
    unit, x = unit_and_tokens(name, causal=True, **parts)
    y, cache = decoded(unit, x, 3)
    assert torch.allclose(y, unit(x), **ROUNDING)
    assert {entry: rows.shape[2] for entry, rows in cache.rows.items()} == cached_features(unit.config, 32)


KV = 64
"""kv = 4 heads of 16; the width d is 64 as well. Two heads of keys make kv 32."""
VALUES = {
    "qkv": 2 * KV,
    "qkk": KV,
    "qk-dctk": KV,
    "qk-whtk": KV,
    "qk-dftk": KV,
    "qk-mfqk": 2 * KV,
    "qk-mfqk-ef": 2 * KV,
    "qk-sk": KV,
    "q-sk-sk": KV,
    "sq-sk-k": KV,
    "sq-sk-sk": KV,
    "qvv2": KV,
    "qvv3": KV,
    "qvv4": KV,
    "qvv4relu": KV,
    "qkv3": 2 * KV,
    "gqa": 2 * KV // 2,
    "wqk": KV,
    "wqk-novo": KV,
    "symmetric": 2 * KV,
    "cholesky": 2 * KV,
    "collapsed-vo": KV,
    "chained-vo": KV,
    "hadamard-o": 2 * KV,
    "hadamard-o-pad": 2 * KV,
    "hadamard-o-block": 2 * KV,
    "hadamard-o-pow2": 2 * KV,
    "mf-scores": 2 * KV,
    "mf-aggregate": 2 * KV,
    "mf-attention": 2 * KV,
}


@pytest.mark.parametrize("name", PRESETS)
def test_cached_values_of_every_preset(name):
    assert sum(cached_features(PRESETS[name], 64).values()) == VALUES[name]
    assert cache_bytes(PRESETS[name], 64, 100, layers=3, bits=8) == 300 * VALUES[name]


def test_the_cache_of_qwen2():
    """Golden: 28 layers, 12 heads of 128 with 2 of keys, 8192 tokens of 16 bits: 2 kv, and kv without keys."""
    qkv, keyless = (AttentionConfig(heads=12, kv_heads=2, key=key) for key in ("projection", "value"))
    assert cache_bytes(qkv, 1536, 8192, layers=28) == 234881024
    assert cache_bytes(keyless, 1536, 8192, layers=28) == 117440512


def test_bytes_of_odd_words_are_rounded_up():
    assert cache_bytes(PRESETS["qkk"], 4, 1, bits=5) == 3  # 20 bits
    assert cache_bytes(PRESETS["qkk"], 4, 0) == 0
    assert cache_bytes(PRESETS["qkv"], 2**20, 2**40, layers=2**10) == 2**72


@pytest.mark.parametrize(
    ("name", "parts", "sentence"),
    [
        (
            "qk-sk",
            {},
            "a cache needs a unit that leaves tokens apart, but `value_transform` filterbank mixes them; "
            "none, dct, wht, dft would do",
        ),
        ("qkv", {}, "a cache needs a unit whose tokens do not depend on later ones; use `causal` True"),
        ("qk-mfqk", {}, "a cache needs a unit whose tokens do not depend on later ones; use `causal` True"),
    ],
)
def test_units_that_cannot_use_a_cache(name, parts, sentence):
    unit, x = unit_and_tokens(name, **parts)
    causal, _ = unit_and_tokens("qkv", causal=True)
    _, cache = prefill(causal, x)
    for use in (lambda: prefill(unit, x), lambda: decode(unit, x[:, :1], cache)):
        with pytest.raises(UnsupportedOpError) as error:
            use()
        assert str(error.value) == sentence


def test_decoding_takes_one_token_while_there_is_room():
    unit, x = unit_and_tokens("qkv", causal=True)
    _, cache = prefill(unit, x)
    with pytest.raises(ShapeError) as error:
        decode(unit, x[:, :1], cache)
    assert str(error.value) == "the cache of 17 tokens is full; the unit was made for 17"
    with pytest.raises(ShapeError) as error:
        decode(unit, x[:, :2], cache)
    assert str(error.value) == "decoding takes one token [N, 1, 32], not [2, 2, 32]"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tokens": -1}, "`tokens` of a cache must be an int of at least 0, not -1"),
        ({"layers": 0}, "`layers` of a cache must be an int of at least 1, not 0"),
        ({"bits": 1.5}, "`bits` of a cache must be an int of at least 1, not 1.5"),
    ],
)
def test_sizes_that_cannot_be(options, sentence):
    with pytest.raises(ShapeError) as error:
        cache_bytes(PRESETS["qkv"], 64, **{"tokens": 1, **options})
    assert str(error.value) == sentence
