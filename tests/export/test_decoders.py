"""Decoders from torch to integers: whole sequences, and one step with caches, at every position of the text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mfsim.analysis import memory
from mfsim.export import open_model, quantized_model
from mfsim.nn.attention import PRESETS, cache_bytes
from mfsim.quant import Recipe
from tests.quant.decoders import TOKENS, assert_step_equals, small_decoder, text_ids
from tests.quant.token_networks import assert_one_network

MF = replace(PRESETS["mf-attention"], normaliser="softmax", normaliser_form="shift")
CASES = {
    "qkv": {},
    "qkk": {"attention": "qkk", "depth": 2},
    "qvv3": {"attention": "qvv3"},
    "hadamard-o": {"attention": "hadamard-o"},
    "qk-whtk": {"attention": "qk-whtk"},
    "gqa": {"attention": "gqa"},
    "wqk": {"attention": "wqk"},
    "mf": {"attention": MF, "norm": "shift-batch", "mlp": "mf", "tied": False},
    "gpt2": {"name": "gpt2-12", "heads": 2, "attention": replace(PRESETS["symmetric"], normaliser_form="log")},
}


@pytest.fixture(scope="module", params=CASES)
def network(request):
    return small_decoder(**CASES[request.param])


def test_whole_sequences(network):
    program = assert_one_network(network, text_ids(), references=0)
    assert [node.layer for node in program.nodes if node.op == "embedding"][:1] == ["embed"]


def test_one_step_with_caches(network):
    program = assert_step_equals(network, text_ids())
    config = network.model.blocks[0].attention.config
    found, blocks = memory(program), len(network.model.blocks)
    for tokens, size in ((1, found.cache.bytes_per_token), (TOKENS - 1, found.total_bytes("cache"))):
        assert size == cache_bytes(config, 16, tokens, layers=blocks, bits=8)
    assert found.cache.rows == TOKENS - 1


def test_an_edited_file_is_that_of_a_freshly_quantized_decoder():
    layers = {"embed": {"weight": 5}, "blocks.0.attention.cached.*": {"activation": 6}}
    recipe = {"weight": 6, "activation": 7, "residual": 12, "layers": layers}
    opened = open_model(quantized_model(small_decoder(attention="qkk"), text_ids()))
    opened.set_formats(Recipe.from_dict(recipe))
    fresh = quantized_model(small_decoder(attention="qkk", recipe=recipe), text_ids())
    assert opened.model().SerializeToString(deterministic=True) == fresh.SerializeToString(deterministic=True)
