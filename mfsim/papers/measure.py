"""What the papers' tables are computed with: networks and attention units, built and counted, each once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from mfsim.analysis.count import CountReport, paper_rows
from mfsim.nn import models
from mfsim.nn.attention import Attention, AttentionConfig, fold_attention
from mfsim.op_counter import Input, count_module

Shape = tuple[int, int, int]
CIFAR: tuple[Shape, int] = ((3, 32, 32), 10)
TINY: tuple[Shape, int] = ((3, 64, 64), 200)
MNIST: tuple[Shape, int] = ((1, 28, 28), 10)
"""Shape of an image and number of classes."""


def size(module: nn.Module, matrices: bool = False) -> int:
    """Return the number of parameters of a module, of its matrices alone if wanted."""
    return sum(p.numel() for p in module.parameters() if p.ndim == 2 or not matrices)


def create(name: str, data: tuple[Shape, int] = CIFAR, **options: Any) -> nn.Module:
    """Return a network without memory for its weights."""
    with torch.device("meta"):
        return models.create(name, *data, **options)


@functools.cache
def parameters(name: str, data: tuple[Shape, int] = CIFAR, **options: Any) -> int:
    """Return the number of parameters of a network."""
    return size(create(name, data, **options))


def stacked(sized: Callable[[int], int], depth: int) -> int:
    """Return the size of a network of `depth` equal blocks from those of one and of two blocks."""
    one, two = sized(1), sized(2)
    return one + (depth - 1) * (two - one)


def unit(config: AttentionConfig, width: int, tokens: int = 1) -> Attention:
    """Return one attention unit without memory for its weights."""
    with torch.device("meta"):
        return Attention(config, width, tokens)


@functools.lru_cache(maxsize=64)
def network_count(name: str, data: tuple[Shape, int], attention: str) -> CountReport:
    """Return the operations of one image in a vision transformer."""
    return count_module(lambda: models.create(name, *data, attention=attention), [Input(data[0])]).report


def multiplications(name: str, data: tuple[Shape, int], attention: str) -> int:
    """Return what the rule `paper` counts."""
    return sum(row.count for row in paper_rows(network_count(name, data, attention).rows))


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
