"""Quantized decoders and their steps in torch: embeddings, where caches are cut, and what has no step."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.errors import DataError, ShapeError, UnsupportedOpError
from mfsim.nn import models
from mfsim.ops.lookup.quant import QuantEmbedding
from mfsim.quant import Recipe, decoder_step, fold, load, quantize, save
from mfsim.quant.quantizers import ActivationQuant
from tests.quant.decoders import LETTERS, TOKENS, small_decoder, text_ids
from tests.quant.token_networks import quantized, small_vit


@pytest.fixture(scope="module")
def network():
    return small_decoder(attention="qvv3")


def logits_step_by_step(network, ids: torch.Tensor, spoil: float = 0.0) -> torch.Tensor:
    """Return logits [N, T, V]; `spoil` is written over what the caches get."""
    step = decoder_step(network)
    caches = [cache.clone() for cache in step.model.example(len(ids))[2:]]
    found = []
    with torch.no_grad():
        for position in range(ids.shape[1]):
            numbers = torch.full((len(ids), 1), position)
            logits, *rows = step(ids[:, position : position + 1], numbers, *caches)
            found.append(logits)
            for cache, row in zip(caches, rows, strict=True):
                cache[:, position : position + 1] = row[:, :, : cache.shape[2]] + spoil if position < TOKENS - 1 else 0
    return torch.cat(found, 1)


def test_a_step_uses_what_the_caches_hold(network):
    ids = text_ids()
    with torch.no_grad():
        whole = network(ids)
    assert torch.equal(logits_step_by_step(network, ids), whole)
    spoilt = logits_step_by_step(network, ids, 1.0)
    assert torch.equal(spoilt[:, 0], whole[:, 0])
    assert not torch.equal(spoilt[:, 1], whole[:, 1])


def test_a_step_shares_the_layers_and_their_words(network):
    step = decoder_step(network)
    assert step.model.blocks is network.model.blocks
    assert step.model.caches == {"cache.0.key": "row.0.key"}
    rows = network.model.blocks[0].attention.cached["key"].result_quant
    logits, kept = step.output_quant
    assert (kept.bits, kept.signed, float(kept.scale)) == (rows.bits, rows.signed, float(rows.scale))
    assert float(logits.scale) == float(network.output_quant[0].scale)


def test_all_readers_of_a_row_read_the_codes_of_its_cache(network):
    unit = network.model.blocks[0].attention
    seen = {}
    hooks = [
        quantizer.register_forward_pre_hook(lambda module, inputs, name=name: seen.update({name: inputs[0]}))
        for name, quantizer in (("scores", unit.key_rope.input_quant), ("values", unit.aggregate.b_quant))
    ]
    with torch.no_grad():
        network(text_ids())
    for hook in hooks:
        hook.remove()
    scale = float(unit.cached["key"].result_quant.scale)
    for values in seen.values():
        codes = values / scale
        assert torch.equal(codes, codes.round())
        assert int(codes.abs().max()) <= 128
    assert set(seen) == {"scores", "values"}


def test_units_without_order_have_no_rows_to_cache():
    unit = quantized(small_vit(attention="qkv")).model.blocks[0].attention
    assert len(unit.cached) == 0


def test_the_table_of_an_embedding_holds_its_largest_entry():
    torch.manual_seed(0)
    layer = nn.Embedding(7, 3)
    with torch.no_grad():
        layer.weight[6, 1] = 5.0  # a row that calibration does not meet
    network = quantize(layer, Recipe.from_dict({"weight": 6, "output": 24}), torch.tensor([[0, 1], [2, 3]]))
    assert isinstance(network.model, QuantEmbedding)
    quantizer = network.model.table_quant
    assert isinstance(quantizer, ActivationQuant)
    assert (quantizer.bits, float(quantizer.scale)) == (6, 0.25)
    with torch.no_grad():
        rows = network.model(torch.arange(7))
    assert torch.equal(rows, torch.round(layer.weight.detach() * 4) / 4)


def test_a_decoder_is_stored_and_trained(network, tmp_path):
    save(network, tmp_path / "network.safetensors")
    fresh = models.create(
        "nano-gpt", vocabulary=len(LETTERS), context=TOKENS, width=16, depth=1, hidden=16, attention="qvv3"
    )
    again = load(tmp_path / "network.safetensors", fresh)
    ids = text_ids()
    with torch.no_grad():
        assert torch.equal(again(ids), network(ids))
    trained = copy.deepcopy(again).train()
    before = trained.model.embed.weight.detach().clone()
    trained(ids).square().mean().backward()
    torch.optim.SGD(trained.parameters(), 1.0).step()
    assert not torch.equal(trained.model.embed.weight, before)


def test_folding_keeps_ids_whole_numbers():
    model = models.create(
        "nano-gpt", vocabulary=9, context=4, width=8, depth=1, heads=2, norm="shift-batch", mlp="relu"
    )
    ids = torch.randint(0, 9, (64, 4), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        model.train()(ids)
        folded = fold(model.eval(), ids)
        np.testing.assert_allclose(folded(ids), model(ids), atol=1e-4)  # sums in float32, in another order


def test_ids_of_another_type():
    model = models.create("nano-gpt", vocabulary=9, context=4, width=8, depth=1, heads=2)
    with pytest.raises(
        ShapeError, match=r"^a decoder takes token ids \[N, T\] of whole numbers, not \[2, 4\] of torch"
    ):
        fold(model, torch.zeros(2, 4, dtype=torch.int32))
    with pytest.raises(DataError, match=r"^calibration needs equally many images for each input"):
        quantize(model, Recipe(), torch.zeros(0, 4, dtype=torch.int64))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: quantized(small_vit()),
            UnsupportedOpError,
            "a step with a cache needs a quantized Decoder, not ViT",
        ),
        (
            lambda: models.create("nano-gpt", vocabulary=9, context=4, width=8, depth=1, heads=2),
            UnsupportedOpError,
            "a step with a cache needs a quantized Decoder, and this Decoder is not quantized; call quantize first",
        ),
    ],
)
def test_networks_that_have_no_step(make, error, sentence):
    with pytest.raises(error) as found:
        decoder_step(make())
    assert str(found.value) == sentence


def test_a_decoder_calibrated_on_short_sequences():
    model = models.create("nano-gpt", vocabulary=len(LETTERS), context=TOKENS, width=16, depth=1, hidden=16)
    network = quantize(model.eval(), Recipe(), text_ids()[:, :4])
    with pytest.raises(ShapeError) as error:
        decoder_step(network)
    assert str(error.value) == (
        "a step with a cache needs a decoder of at least 2 tokens that was calibrated on sequences as long as its "
        "context; that is 6, and they had 4"
    )
