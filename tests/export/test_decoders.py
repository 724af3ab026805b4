"""Decoders from torch to integers: whole sequences, and one step with caches, at every position of the text."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from mfsim.analysis import memory
from mfsim.compiler import compile_model
from mfsim.export import open_model, quantized_model
from mfsim.export.runtime import run, session
from mfsim.nn import Add
from mfsim.nn.attention import PRESETS, cache_bytes
from mfsim.parity.compare import codes_of
from mfsim.quant import Recipe, fold, quantize
from mfsim.simulate import quantize_input, simulate
from tests.bits import assert_bit_equal
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
    "qk-mfqk": {"attention": "qk-mfqk"},
    "mf": {"attention": MF, "norm": "shift-batch", "mlp": "mf", "tied": False},
    "mf-attention": {"attention": "mf-attention", "norm": "shift-batch", "mlp": "mf", "tied": False},
    "qwen2": {"name": "qwen2-1.5b", "heads": 4, "kv_heads": 2, "attention": "qvv3"},
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


class Labelled(nn.Module):
    """Reals with a label beside them; the reals go two ways, so that they need a quantizer at the entrance."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.left, self.right = nn.Embedding(5, 4), nn.Linear(3, 4), nn.Linear(3, 4)
        self.add1, self.add2 = Add(), Add()

    def forward(self, label: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.add1(self.embed(label), self.add2(self.left(x), self.right(x.relu())))


def test_ids_have_no_quantizer_at_the_entrance_but_the_reals_beside_them_do():
    torch.manual_seed(0)
    inputs = torch.randint(0, 5, (40,)), torch.randn(40, 3)
    model = fold(Labelled().eval(), inputs)
    network = quantize(model, Recipe.from_dict({}), inputs)
    assert len(network.input_quant) == 1
    proto = quantized_model(network, inputs)
    program = compile_model(proto)
    values = dict(zip(program.inputs, (x.numpy() for x in inputs), strict=True))
    with torch.no_grad():
        codes = codes_of(program, {"output": network(*inputs).numpy()})["output"]
    assert_bit_equal(simulate(program, quantize_input(program, values)).outputs["output"].astype("int64"), codes)
    for optimise in (True, False):
        assert_bit_equal(codes_of(program, run(session(proto, optimise), values))["output"], codes)
    opened, recipe = open_model(proto), Recipe.from_dict({"input": 6, "activation": 5})
    opened.set_formats(recipe)
    fresh = quantized_model(quantize(model, recipe, inputs), inputs)
    assert opened.model().SerializeToString(deterministic=True) == fresh.SerializeToString(deterministic=True)
