"""What one token costs when it is decoded with a cache, by the number of tokens before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn

from mfsim.analysis.count import CountReport
from mfsim.analysis.listing import Cell, Listing
from mfsim.nn.attention import (
    PRESETS,
    Attention,
    AttentionCache,
    AttentionConfig,
    cache_bytes,
    cached_features,
    decode,
    fold_attention,
)
from mfsim.op_counter import Input, count_module
from mfsim.ops.op import MULTIPLIED_BY

OF_MODEL = ("heads", "kv_heads", "rope", "rope_base", "bias", "output_bias", "causal")
"""Parts of a unit that the model decides."""
UNITS = ("qkv", "qvv3", "hadamard-o-block")
"""Folded: W_R is part of W_Q."""
OTHERS = ("addsub", "lut", "div")


class DecodeStep(nn.Module):
    """One token x [N, 1, width] through a causal unit; the rows of its cache are inputs, too."""

    def __init__(self, unit: Attention) -> None:
        super().__init__()
        self.unit = unit

    def forward(self, x: torch.Tensor, *rows: torch.Tensor) -> torch.Tensor:
        """Return the unit's output [N, 1, width]."""
        entries = dict.fromkeys(self.unit.config.cached)
        return decode(self.unit, x, AttentionCache(dict(zip(entries, rows, strict=True))))[0]


def step_count(config: AttentionConfig, width: int, tokens: int) -> CountReport:
    """Return the operations of one folded unit for the last of `tokens` tokens, at least 2."""
    folded = fold_attention(Attention(config, width, tokens))
    assert isinstance(folded, Attention)
    step = DecodeStep(folded)
    rows = [Input((tokens - 1, features)) for features in cached_features(config, width).values()]
    return count_module(lambda: step, [Input((1, width)), *rows]).report


def decode_listing(model: AttentionConfig, width: int, layers: int, contexts: Sequence[int]) -> Listing:
    """Return operations of one layer and bytes of all caches, by unit and tokens, with the heads of `model`."""
    found: list[tuple[Cell, ...]] = []
    for name in UNITS:
        config = replace(PRESETS[name], **{part: getattr(model, part) for part in OF_MODEL})
        for tokens in contexts:
            report = step_count(config, width, tokens)
            classes, primitives = report.by_class(), report.by_primitive()
            found.append(
                (
                    name,
                    tokens,
                    *(classes[by] for by in MULTIPLIED_BY),
                    *(primitives[primitive] for primitive in OTHERS),
                    cache_bytes(config, width, tokens, layers=layers, bits=16),
                )
            )
    columns = ("unit", "tokens", *(f"mul_{by}" for by in MULTIPLIED_BY), *OTHERS, "cache_bytes")
    return Listing("decode_steps", columns, tuple(found))
