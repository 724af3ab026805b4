"""One step of a quantized decoder: the next token, caches of a fixed length, and what the caches get.

    inputs    ids [N, 1], position [N, 1] (int64); cache.<block>.<rows> [N, T - 1, features] for each cache
    outputs   logits [N, 1, V]; row.<block>.<rows> [N, 1, features], to be kept at `position`

It is made of the layers of the network of whole sequences, with their words, scales and tables, so the
codes of the logits are those of that network at the same position. This is exact, because

1. a cache holds the codes behind the quantizer of `CachedRows`, which in the network of whole sequences,
   too, stands in front of all that reads the rows;
2. with T - 1 cached rows and the new one behind them, a row of scores has T entries in both networks, so
   that tables and guards, which depend on that number, serve for both;
3. sums of integers do not depend on their order, and an entry that a mask hides adds nothing to them.

The length mask and the rotation of the new token are rows of constants that the position chooses; what
stands in a cache from `position` on is not seen.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import nn

from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.keywords import check_keywords
from mfsim.nn.attention import Attention
from mfsim.nn.attention.cache import cached_features, check_decodable
from mfsim.nn.attention.unit import through
from mfsim.nn.models.decoder import Decoder
from mfsim.nn.models.layers import Block
from mfsim.ops.softmax.quant import QuantNormaliser
from mfsim.quant.network import QuantizedNetwork
from mfsim.quant.quantizers import ActivationQuant


class LengthMask(nn.Module):
    """What a token sees of `tokens` - 1 cached rows and itself behind them: the rows before its position, and itself."""

    seen: torch.Tensor

    def __init__(self, tokens: int) -> None:
        super().__init__()
        seen = torch.ones(tokens, tokens).tril(-1)
        seen[:, -1] = 1
        self.register_buffer("seen", seen, persistent=False)
        self.table_quant = ActivationQuant(2, False)

    def forward(self, position: torch.Tensor) -> torch.Tensor:
        """Return the mask of each sample, a row of constants that its position chooses.

        Parameters
        ----------
        position : int64 tensor, shape [N, 1]
            In 0 .. `tokens` - 1.

        Returns
        -------
        float tensor, shape [N, 1, 1, tokens]
            1 where a row is seen, else 0.
        """
        return nn.functional.embedding(position, self.table_quant(self.seen)).unsqueeze(1)


class DecoderStep(nn.Module):
    """`Decoder` for one token; `decoder` is one of quantized layers, which are shared, not copied.

    Attributes
    ----------
    tokens : int
        The most tokens of a sequence, T.
    caches : the row of each cache, output by input.
    input_names, output_names : of the exported file.
    """

    position_name = "position"
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.embed, self.positions, self.add = decoder.embed, decoder.positions, decoder.add
        self.blocks, self.norm, self.head = decoder.blocks, decoder.norm, decoder.head
        units = [_unit(block) for block in decoder.blocks]
        self.tokens = _tokens(units)
        self.length_mask = LengthMask(self.tokens)
        self.kept = [(k, entry) for k, unit in enumerate(units) for entry in unit.cached]
        self.caches: Mapping[str, str] = {f"cache.{k}.{entry}": f"row.{k}.{entry}" for k, entry in self.kept}
        self.input_names = ("ids", self.position_name, *self.caches)
        self.output_names = ("logits", *self.caches.values())

    def forward(self, ids: torch.Tensor, position: torch.Tensor, *caches: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return the logits, and the new row of each cache.

        Parameters
        ----------
        ids, position : int64 tensor, shape [N, 1]
            Token ids, and their positions in 0 .. T - 1.
        *caches : float tensor, shape [N, T - 1, features]
            In the order of `caches`; rows from `position` on are not seen.

        Returns
        -------
        tuple of float tensors
            Logits [N, 1, V]; then rows [N, 1, features], in the order of `caches`.
        """
        x = self.embed(ids)
        if self.positions is not None and self.add is not None:
            x = self.add(x, self.positions(position))
        seen = self.length_mask(position)
        old = dict(zip(self.kept, caches, strict=True))
        rows = []
        for k, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            mine = {entry: old[k, entry] for number, entry in self.kept if number == k}
            attended, new = self._attend(block.attention, through(block.norm1, x), position, seen, mine)
            x = block.behind_attention(x, attended)
            rows += list(new.values())
        return (through(self.head, through(self.norm, x)), *rows)

    def _attend(
        self,
        unit: Attention,
        x: torch.Tensor,
        position: torch.Tensor,
        seen: torch.Tensor,
        caches: Mapping[str, torch.Tensor],
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the unit's output for the token x [N, 1, width], and its rows for the caches."""
        query, key, value = unit.rows(x, x)
        new = unit.rows_to_cache(key, value)
        rows = {entry: torch.cat((_quantizer(unit, entry)(old), new[entry]), 1) for entry, old in caches.items()}

        def rotate(queries: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            assert unit.query_rope is not None
            assert unit.key_rope is not None
            old, own = keys[:, :, :-1], keys[:, :, -1:]
            turned = torch.cat((unit.key_rope(old), unit.key_rope(own, position)), 2)
            return unit.query_rope(queries, position), turned

        attended = unit.attend(query, *unit.cached_rows(rows), rotate, lambda scores: unit.normalise(scores, seen))
        return attended, new

    def example(self, samples: int = 2) -> tuple[torch.Tensor, ...]:
        """Return inputs of the right shapes: the first token of `samples` sequences, the caches empty.

        Parameters
        ----------
        samples : int, at least 1
            N.

        Returns
        -------
        tuple of tensors
            Ids and positions, int64 [N, 1] of 0; caches, float32 [N, T - 1, features] of 0.
        """
        numbers = torch.zeros(samples, 1, dtype=torch.int64)
        widths = [
            cached_features(unit.config, unit.width)[entry]
            for k, entry in self.kept
            for unit in [_unit(self.blocks[k])]
        ]
        return numbers, numbers, *(torch.zeros(samples, self.tokens - 1, width) for width in widths)


@check_keywords
def decoder_step(network: QuantizedNetwork) -> QuantizedNetwork:
    """Return the network of one step of a quantized decoder; see the module header.

    Export it with `network.model.example()`. Its layers are those of `network`; after training that one
    further, make the step anew.

    Parameters
    ----------
    network : QuantizedNetwork
        A quantized `Decoder`.

    Returns
    -------
    QuantizedNetwork
        In eval mode; `model` is a `DecoderStep`.

    Raises
    ------
    UnsupportedOpError
        If the network is no quantized `Decoder`, or a unit cannot use a cache.
    ShapeError
        If sequences have one token, or it was calibrated on sequences of other lengths than its context.
    """
    if not isinstance(network, QuantizedNetwork):
        raise UnsupportedOpError(
            f"a step with a cache needs a quantized Decoder, and this {type(network).__name__} is not quantized; "
            "call quantize first"
        )
    if not isinstance(network.model, Decoder):
        raise UnsupportedOpError(f"a step with a cache needs a quantized Decoder, not {type(network.model).__name__}")
    step = DecoderStep(network.model)
    (logits,) = network.output_quant
    assert isinstance(logits, ActivationQuant)
    made = QuantizedNetwork(step, (), len(step.output_names), logits.bits)
    rows = [_quantizer(_unit(step.blocks[k]), entry) for k, entry in step.kept]
    made.output_quant = nn.ModuleList(copy.deepcopy(quantizer) for quantizer in (logits, *rows))
    return made.eval()


def _unit(block: nn.Module) -> Attention:
    assert isinstance(block, Block)
    return block.attention


def _quantizer(unit: Attention, entry: str) -> ActivationQuant:
    """Return the quantizer behind the cached rows of a kind."""
    quantizer = unit.cached[entry].result_quant
    assert isinstance(quantizer, ActivationQuant)
    return quantizer


def _tokens(units: list[Attention]) -> int:
    """Return the length of a row of scores; raise unless all units can use a cache."""
    tokens = units[0].tokens
    for unit in units:
        check_decodable(unit.config)
        normaliser = unit.normalise
        assert isinstance(normaliser, QuantNormaliser)
        if tokens < 2 or normaliser.length != tokens:
            raise ShapeError(
                "a step with a cache needs a decoder of at least 2 tokens that was calibrated on sequences as long "
                f"as its context; that is {tokens}, and they had {normaliser.length}"
            )
    return tokens
