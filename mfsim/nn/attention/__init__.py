"""Attention units as orthogonal parts: a configuration, presets, one module, folding, decoding with a cache."""

from __future__ import annotations

from mfsim.nn.attention.cache import AttentionCache, cache_bytes, cached_features, decode, prefill
from mfsim.nn.attention.config import AttentionConfig
from mfsim.nn.attention.fold import fold_attention
from mfsim.nn.attention.presets import PRESETS, attention_config
from mfsim.nn.attention.unit import Attention

__all__ = [
    "PRESETS",
    "Attention",
    "AttentionCache",
    "AttentionConfig",
    "attention_config",
    "cache_bytes",
    "cached_features",
    "decode",
    "fold_attention",
    "prefill",
]
