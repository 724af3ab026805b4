"""What the papers' tables are computed with: networks, attention units, and steps of a decoder, built and counted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from examples.papers.values import Counted
from mfsim.analysis.count import CountReport
from mfsim.analysis.listing import Cell, Listing
from mfsim.nn import models
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

Shape = tuple[int, int, int]
CIFAR: tuple[Shape, int] = ((3, 32, 32), 10)
TINY: tuple[Shape, int] = ((3, 64, 64), 200)
MNIST: tuple[Shape, int] = ((1, 28, 28), 10)
"""Shape of an image and number of classes."""


def create(name: str, data: tuple[Shape, int] = CIFAR, **options: Any) -> nn.Module:
    """Return a network without memory for its weights."""
    with torch.device("meta"):
        return models.create(name, *data, **options)


@functools.cache
def parameters(name: str, data: tuple[Shape, int] = CIFAR, **options: Any) -> Counted:
    """Return the number of parameters of a network."""
    return Counted.parameters(create(name, data, **options))


def unit(config: AttentionConfig, width: int, tokens: int = 1) -> Attention:
    """Return one attention unit without memory for its weights."""
    with torch.device("meta"):
        return Attention(config, width, tokens)


@functools.lru_cache(maxsize=64)
def network_count(name: str, data: tuple[Shape, int], attention: str) -> CountReport:
    """Return the operations of one image in a vision transformer."""
    return count_module(lambda: models.create(name, *data, attention=attention), [Input(data[0])]).report


def multiplications(name: str, data: tuple[Shape, int], attention: str) -> Counted:
    """Return what the rule `paper` counts."""
    return Counted.paper_rule(network_count(name, data, attention))


@functools.lru_cache(maxsize=128)
def unit_count(config: AttentionConfig, width: int, tokens: int, folded: bool = False) -> CountReport:
    """Return the operations of one attention unit on `tokens` tokens, folded before if wanted."""
    built: nn.Module = Attention(config, width, tokens)
    if folded:
        built = fold_attention(built)
    return count_module(lambda: built, [Input((tokens, width))]).report


def module_count(build: Callable[[], nn.Module], *shape: int) -> CountReport:
    """Return the operations of what `build` makes, on one input of that shape."""
    return count_module(build, [Input(shape)]).report


OF_MODEL = ("heads", "kv_heads", "rope", "rope_base", "bias", "output_bias", "causal")
"""Parts of a unit that the model decides."""
DECODED = ("qkv", "qvv3", "hadamard-o-block")
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
    for name in DECODED:
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
