"""What a configuration refuses, and the sentence that says why and what would do."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest
import torch

from mfsim.errors import FormatError, ShapeError, UnsupportedOpError
from mfsim.nn.attention import PRESETS, Attention, AttentionConfig, attention_config


@pytest.mark.parametrize(
    ("parts", "kind", "sentence"),
    [
        (
            {"similarity": "dto"},
            FormatError,
            "`similarity` of an attention unit must be one of dot, mf, not 'dto'; did you mean `dot`?",
        ),
        (
            {"normaliser": "tanh_l1", "normaliser_form": "log"},
            FormatError,
            "`normaliser_form` of an attention unit must be one of division, shift, not 'log'",
        ),
        (
            {"value_transform": 3},
            FormatError,
            "`value_transform` of an attention unit must be one of none, dct, wht, dft, filterbank, not 3",
        ),
        ({"form": "efs"}, FormatError, "`form` must be one of ef, abs, not 'efs'; did you mean `ef`?"),
        ({"heads": 0}, ShapeError, "`heads` of an attention unit must be an int of at least 1, not 0"),
        ({"chain": -1}, ShapeError, "`chain` of an attention unit must be an int of at least 0, not -1"),
        ({"kv_heads": 0}, ShapeError, "`kv_heads` of an attention unit must be an int of at least 1, not 0"),
        (
            {"heads": 12, "kv_heads": 5},
            ShapeError,
            "`kv_heads` must divide `heads`, which is 12: 1, 2, 3, 4, 6, 12, not 5",
        ),
        ({"heads": 2, "kv_heads": 4}, ShapeError, "`kv_heads` must divide `heads`, which is 2: 1, 2, not 4"),
        (
            {"key": "value", "value": "key"},
            UnsupportedOpError,
            "`key` value and `value` key name each other; one of them must be a projection",
        ),
        (
            {"key": "value", "value": "mf"},
            UnsupportedOpError,
            "`value` mf needs keys of its own; `key` must be projection, query or input",
        ),
        (
            {"chain": 1, "key": "query"},
            UnsupportedOpError,
            "`chain` 1 needs `query` projection and keys of their own, not `query` projection and `key` query",
        ),
        (
            {"chain": 2, "query": "input"},
            UnsupportedOpError,
            "`chain` 2 needs `query` projection and keys of their own, not `query` input and `key` projection",
        ),
        ({"chain_relu": True}, UnsupportedOpError, "`chain_relu` needs a `chain` of at least 1, not 0"),
        (
            {"kv_heads": 2, "key": "input"},
            UnsupportedOpError,
            "`key` input has 4 heads, so `kv_heads` must be 4, not 2",
        ),
        ({"kv_heads": 1, "value": "mf"}, UnsupportedOpError, "`value` mf has 4 heads, so `kv_heads` must be 4, not 1"),
        (
            {"kv_heads": 2, "value_transform": "filterbank"},
            UnsupportedOpError,
            "a filterbank has one fusion for each head, so `kv_heads` must be 4, not 2",
        ),
        (
            {"causal": True, "key_transform": "filterbank"},
            UnsupportedOpError,
            "a causal mask needs a unit that leaves tokens apart, but `key_transform` filterbank mixes them; "
            "none, dct, wht, dft would do",
        ),
        (
            {"causal": True, "aggregation": "mf", "sign_zero": 1},
            UnsupportedOpError,
            "a causal mask needs an aggregation to which hidden tokens add nothing; with `aggregation` mf, `sign_zero` "
            "must be 0, not 1",
        ),
    ],
)
def test_parts_that_do_not_suit_each_other(parts, kind, sentence):
    with pytest.raises(kind) as error:
        AttentionConfig(**parts)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "parts", "width", "tokens", "grid", "sentence"),
    [
        ("qkv", {}, 30, 5, None, "`width` must be a multiple of `heads`, which is 4, not 30"),
        ("qkv", {}, 0, 5, None, "`width` must be a multiple of `heads`, which is 4, not 0"),
        ("qkv", {}, 32, 0, None, "`tokens` of an attention unit must be at least 1, not 0"),
        (
            "qk-whtk",
            {},
            192,
            5,
            None,
            "a Walsh-Hadamard transform of each head needs a head width that is a power of two, not 48 (192 / 4 heads); "
            "32 and 64 are, so `width` 128 or 256 would do",
        ),
        (
            "hadamard-o",
            {},
            192,
            5,
            None,
            "the transform in place of W_O needs a `width` that is a power of two, not 192; "
            "use `hadamard_size` pad (zeros up to 256) or block (blocks of 64)",
        ),
        (
            "hadamard-o",
            {"heads": 5},
            15,
            5,
            None,
            "the transform in place of W_O needs a `width` that is a power of two, not 15; "
            "use `hadamard_size` pad (zeros up to 16)",
        ),
        ("qkv", {"rope": True}, 12, 5, None, "rotary positions need a head width that is even, not 3 (12 / 4 heads)"),
        (
            "qk-sk",
            {},
            32,
            25,
            (4, 6),
            "a filterbank needs a square grid of patches, not 4 x 6; 4 x 4 or 6 x 6 would do",
        ),
        (
            "sq-sk-k",
            {},
            32,
            51,
            None,
            "a filterbank needs a square grid of patches, with at most one class token in front: "
            "49 or 50 tokens would do, or 64, not 51",
        ),
        (
            "qk-sk",
            {},
            32,
            19,
            (4, 4),
            "a filterbank needs a square grid of patches, with at most one class token in front: "
            "16 or 17 tokens would do, or 25, not 19",
        ),
    ],
)
def test_sizes_that_do_not_suit_a_unit(name, parts, width, tokens, grid, sentence):
    with pytest.raises(ShapeError) as error:
        Attention(replace(PRESETS[name], **parts), width, tokens, grid=grid)
    assert str(error.value) == sentence


def test_forms_of_transforms():
    for parts, sentence in (
        ({"dft_form": "roots"}, "`dft_form` of an attention unit must be one of root, alpha-beta, csd, not 'roots'"),
        (
            {"filterbank_form": "fast"},
            "`filterbank_form` of an attention unit must be one of product, fft, csd, not 'fast'",
        ),
    ):
        with pytest.raises(FormatError) as error:
            replace(PRESETS["qkk"], **parts)
        assert str(error.value).startswith(sentence)
    with pytest.raises(
        ShapeError, match="must have a side that is a power of two of at least 4, not 5; the form product"
    ):
        Attention(replace(PRESETS["qk-sk"], filterbank_form="fft"), 32, 26)
    assert Attention(replace(PRESETS["qk-sk"], filterbank_form="csd"), 32, 17).value_transform.form == "csd"
    assert Attention(replace(PRESETS["qk-dftk"], dft_form="csd"), 32, 17).value_transform.form == "csd"


@pytest.mark.parametrize("shape", [(17, 32), (2, 17, 31)])
def test_tokens_of_another_shape(shape):
    with pytest.raises(ShapeError) as error:
        Attention(PRESETS["qkv"], 32, 17)(torch.zeros(shape))
    assert str(error.value) == f"`x` must be [N, tokens, 32], not {list(shape)}"


def test_an_unknown_preset():
    with pytest.raises(UnsupportedOpError) as error:
        attention_config("qvv5")
    shown = ", ".join(PRESETS)
    assert str(error.value).startswith(f"`attention` must be an AttentionConfig or one of {shown}, not 'qvv5'")
    assert "did you mean `qvv" in str(error.value)


def test_presets_are_values():
    assert attention_config("qkk") == PRESETS["qkk"] == AttentionConfig(value="key")
    config = AttentionConfig(heads=2)
    assert attention_config(config) is config
    with pytest.raises(FrozenInstanceError):
        config.heads = 3
    assert len(set(PRESETS.values())) == len(PRESETS)  # no two are the same unit


def test_a_filterbank_without_a_class_token():
    for tokens, passing in ((16, 0), (17, 1)):
        unit = Attention(PRESETS["q-sk-sk"], 32, tokens)
        assert (unit.key_transform.grid, unit.key_transform.passing) == (4, passing)
        assert unit.value_transform is None  # S(K) is made once
