"""Decoding token by token with a cache of what later tokens need, and the size of that cache.

What is cached are rows before transforms and rotations, each once: K and V; or one of them where the
other is made of it (QKK, QVV); or x itself where keys are x (then values are projected again from it).
So Keyless and dual-head units keep half of what QKV keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.nn.attention import parts
from mfsim.nn.attention.config import MIXING, TRANSFORMS, AttentionConfig
from mfsim.nn.attention.fitting import check_width
from mfsim.nn.attention.unit import Attention


def cached_features(config: AttentionConfig, width: int) -> dict[str, int]:
    """Return how many values a unit of `width` features caches for each token, by what they are.

    For the filterbank, which cannot decode, it is what a fixed memory of patches takes.

    Parameters
    ----------
    config : AttentionConfig
    width : int, at least 1
        Features of a token, a multiple of the heads.

    Returns
    -------
    dict of str to int
        Values a token, by the kinds of rows: "key", "value" or "input".

    Raises
    ------
    ShapeError
        If the unit does not fit `width`.

    Examples
    --------
    >>> from mfsim.nn.attention import PRESETS
    >>> cached_features(PRESETS["qkv"], 128), cached_features(PRESETS["qvv3"], 128)
    ({'key': 128, 'value': 128}, {'key': 128})
    """
    narrow = check_width(config, width) * config.groups
    return {entry: width if entry == "input" else narrow for entry in config.cached}


def cache_bytes(config: AttentionConfig, width: int, tokens: int, *, layers: int = 1, bits: int = 16) -> int:
    """Return the bytes of the caches of a stack of units, exactly.

    Parameters
    ----------
    config : AttentionConfig
    width : int, at least 1
        Features of a token, a multiple of the heads.
    tokens : int, at least 0
        Tokens in each cache.
    layers : int, at least 1
        Units with a cache.
    bits : int, at least 1
        Of each value.

    Returns
    -------
    int
        Bytes, rounded up to whole ones.

    Raises
    ------
    ShapeError
        If the unit does not fit `width`, `tokens` is negative, or `layers` or `bits` is less than 1.
    """
    for name, number, least in (("tokens", tokens, 0), ("layers", layers, 1), ("bits", bits, 1)):
        if not isinstance(number, int) or number < least:
            raise ShapeError(f"`{name}` of a cache must be an int of at least {least}, not {number!r}")
    return -(-sum(cached_features(config, width).values()) * tokens * layers * bits // 8)


@dataclass(frozen=True)
class AttentionCache:
    """Cached rows [N, tokens, features] of one unit, by what they are."""

    rows: Mapping[str, torch.Tensor]

    @property
    def tokens(self) -> int:
        """How many tokens are cached."""
        return int(next(iter(self.rows.values())).shape[1])


def check_decodable(config: AttentionConfig) -> None:
    """Raise `UnsupportedOpError` unless a unit can decode with a cache.

    Parameters
    ----------
    config : AttentionConfig

    Raises
    ------
    UnsupportedOpError
        If the unit is not causal, or a transform mixes tokens.
    """
    for part, kind in config.transforms.items():
        if kind in MIXING:
            fitting = ", ".join(t for t in TRANSFORMS if t not in MIXING)
            raise UnsupportedOpError(
                f"a cache needs a unit that leaves tokens apart, but `{part}` {kind} mixes them; {fitting} would do"
            )
    if not config.causal:
        raise UnsupportedOpError("a cache needs a unit whose tokens do not depend on later ones; use `causal` True")


def prefill(unit: Attention, x: torch.Tensor) -> tuple[torch.Tensor, AttentionCache]:
    """Return the output for the first tokens, and their cache.

    Parameters
    ----------
    unit : Attention
        A causal unit.
    x : float tensor, shape [N, T, width]
        The tokens of the positions 0 .. T - 1.

    Returns
    -------
    tuple of (float tensor, shape [N, T, width], AttentionCache)

    Raises
    ------
    UnsupportedOpError
        If the unit is not causal, or mixes tokens.
    """
    check_decodable(unit.config)
    query, key, value = unit.rows(x, x)
    return unit.attend(query, key, value), AttentionCache(unit.rows_to_cache(key, value))


def decode(unit: Attention, x: torch.Tensor, cache: AttentionCache) -> tuple[torch.Tensor, AttentionCache]:
    """Return the output for the next token, and the cache with it.

    It equals the last row of what the whole sequence gives.

    Parameters
    ----------
    unit : Attention
        A causal unit.
    x : float tensor, shape [N, 1, width]
        The token of the position `cache.tokens`.
    cache : AttentionCache
        Of the tokens before; it is not changed.

    Returns
    -------
    tuple of (float tensor, shape [N, 1, width], AttentionCache)

    Raises
    ------
    UnsupportedOpError
        If the unit is not causal, or mixes tokens.
    ShapeError
        If x is not one token, or the unit's `tokens` are used up.
    """
    check_decodable(unit.config)
    if x.ndim != 3 or x.shape[1:] != (1, unit.width):
        raise ShapeError(f"decoding takes one token [N, 1, {unit.width}], not {list(x.shape)}")
    if cache.tokens >= unit.tokens:
        raise ShapeError(f"the cache of {cache.tokens} tokens is full; the unit was made for {unit.tokens}")
    query, key, value = unit.rows(x, x)
    new = unit.rows_to_cache(key, value)
    rows = {entry: torch.cat((old, new[entry]), 1) for entry, old in cache.rows.items()}

    def rotate(queries: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        assert unit.query_rope is not None
        assert unit.key_rope is not None
        return unit.query_rope(queries, cache.tokens), unit.key_rope(keys)

    normalise = parts.normaliser(unit.config, unit.n, causal=False)
    return unit.attend(query, *unit.cached_rows(rows), rotate, normalise), AttentionCache(rows)
