"""Decoders of tokens: `nano-gpt`, `gpt2-12`, `gpt2-36`, `qwen2-1.5b`.

`nano-gpt` is the base of "Structured Hadamard output projection" (arXiv 2603.08343): rotary positions,
SwiGLU of 8/3 of the width, RMSNorm, no biases. The GPT-2 shapes, 1024 wide with untied embeddings, have the
sizes of "Keyless Attention" (arXiv 2606.21848; 557 million parameters with 36 layers). The Qwen2-1.5B
shape is the public configuration. Large ones are made without memory in `torch.device("meta")`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import nn

from mfsim.errors import ModelError, ShapeError
from mfsim.nn.attention import Attention, AttentionConfig
from mfsim.nn.attention.cache import AttentionCache, decode, prefill
from mfsim.nn.attention.config import OUTPUTS
from mfsim.nn.attention.unit import through
from mfsim.nn.elementwise import Add
from mfsim.nn.models.layers import Block, check_choice, make_mlp, make_norm
from mfsim.nn.models.vit import with_heads

POSITIONS = ("rope", "learned", "none")


class Decoder(nn.Module):
    """A causal transformer from token ids [N, T] to one number for each word of the vocabulary, [N, T, V].

    Parameters
    ----------
    vocabulary, context : int
        Number of words; the most tokens of a sequence.
    width, depth, hidden : int
        `depth` blocks with MLPs of `hidden` features.
    attention : AttentionConfig
        Made causal; its `rope` is decided by `positions`.
    positions : {"rope", "learned", "none"}
    norm, mlp : str
        Of `mfsim.nn.models.layers.NORMS`, `MLPS`.
    mlp_bias, tied : bool
        Whether the MLP has biases; whether the last layer has the embedding's weight.
    eps : float
        Of the norms.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        context: int,
        width: int,
        depth: int,
        hidden: int,
        attention: AttentionConfig,
        positions: str = "rope",
        norm: str = "rms",
        mlp: str = "swiglu",
        mlp_bias: bool = False,
        tied: bool = True,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        check_choice("positions", positions, POSITIONS)
        if attention.output == "chained":
            others = ", ".join(kind for kind in OUTPUTS if kind != "chained")
            raise ModelError(
                "a decoder's blocks have residuals, so its units cannot have the `output` chained; "
                f"use one of {others}, or the model min-transformer without residuals"
            )
        if norm == "shift-batch":
            attention = replace(attention, projection_norm=norm)
        attention = replace(attention, causal=True, rope=positions == "rope")
        self.context = context
        self.embed = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width) if positions == "learned" else None
        self.add = Add() if positions == "learned" else None
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            inner = make_mlp(mlp, width, hidden, norm=norm, bias=mlp_bias)
            self.blocks.append(Block(Attention(attention, width, context), norm, inner, eps=eps))
        self.norm = make_norm(norm, width, eps)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            nn.init.normal_(self.embed.weight, std=width**-0.5)
            self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the logits of all words at each position.

        Parameters
        ----------
        ids : integer tensor, shape [N, T]
            Token ids in 0 .. `vocabulary` - 1; T at most `context`.

        Returns
        -------
        float tensor, shape [N, T, vocabulary]

        Raises
        ------
        ShapeError
            If `ids` has another number of axes, is not of integers, or is too long.
        """
        x = self._embedded(ids, 0)
        for block in self.blocks:
            x = block(x)
        y: torch.Tensor = self.head(through(self.norm, x))
        return y

    def prefill(self, ids: torch.Tensor) -> tuple[torch.Tensor, list[AttentionCache]]:
        """Return what `forward` returns, and the cache of each block.

        Parameters
        ----------
        ids : integer tensor, shape [N, T]
            Token ids in 0 .. `vocabulary` - 1; T at most `context`.

        Returns
        -------
        tuple of (float tensor, shape [N, T, vocabulary], list of AttentionCache)

        Raises
        ------
        ShapeError
            If `ids` has another number of axes, is not of integers, or is too long.
        """
        return self._cached(self._embedded(ids, 0), prefill)

    def decode(self, ids: torch.Tensor, caches: Sequence[AttentionCache]) -> tuple[torch.Tensor, list[AttentionCache]]:
        """Return the logits for the next token, which equal the last row of `forward`, and the caches with it.

        Parameters
        ----------
        ids : integer tensor, shape [N, 1]
            Token ids in 0 .. `vocabulary` - 1.
        caches : sequence of AttentionCache
            One for each block, as `prefill` or `decode` returns them; not changed.

        Returns
        -------
        tuple of (float tensor, shape [N, 1, vocabulary], list of AttentionCache)

        Raises
        ------
        ShapeError
            If `ids` is not one token, or the caches are full.
        """
        remaining = iter(caches)
        return self._cached(self._embedded(ids, caches[0].tokens), lambda unit, x: decode(unit, x, next(remaining)))

    def _cached(
        self, x: torch.Tensor, attend: Callable[[Attention, torch.Tensor], tuple[torch.Tensor, AttentionCache]]
    ) -> tuple[torch.Tensor, list[AttentionCache]]:
        caches = []
        for block in self.blocks:
            assert isinstance(block, Block)
            attended, cache = attend(block.attention, through(block.norm1, x))
            x = block.behind_attention(x, attended)
            caches.append(cache)
        return through(self.head, through(self.norm, x)), caches

    def _embedded(self, ids: torch.Tensor, start: int) -> torch.Tensor:
        if ids.ndim != 2 or ids.is_floating_point():
            raise ShapeError(f"a decoder takes token ids [N, T] of whole numbers, not {list(ids.shape)} of {ids.dtype}")
        if start + ids.shape[1] > self.context:
            raise ShapeError(f"a decoder of {self.context} tokens cannot take {start + ids.shape[1]}")
        x: torch.Tensor = self.embed(ids)
        if self.positions is None or self.add is None:
            return x
        places = torch.arange(start, start + ids.shape[1], device=ids.device)
        y: torch.Tensor = self.add(x, self.positions(places))
        return y


def build_nano(
    *,
    vocabulary: int = 256,
    context: int = 128,
    attention: str | AttentionConfig = "qkv",
    width: int = 128,
    depth: int = 4,
    heads: int | None = None,
    kv_heads: int | None = None,
    hidden: int = 0,
    positions: str = "rope",
    norm: str = "rms",
    mlp: str = "swiglu",
    bias: bool = False,
    tied: bool = True,
) -> nn.Module:
    """Return a NanoGPT-style decoder.

    Parameters
    ----------
    attention : str or AttentionConfig
        A preset's name, or a unit, whose biases are those of `bias`.
    heads, kv_heads : int or None
        None: 4 and the unit's, or what the unit itself says.
    hidden : int
        Features of the MLP; 0 for 8/3 of the width, rounded down.
    vocabulary, context, width, depth, positions, norm, mlp, tied
        As in `Decoder`.
    bias : bool
        Whether projections and MLP have biases.

    Returns
    -------
    Decoder
    """
    return Decoder(
        vocabulary=vocabulary,
        context=context,
        width=width,
        depth=depth,
        hidden=hidden or 8 * width // 3,
        attention=replace(with_heads(attention, heads, kv_heads, 4), bias=bias, output_bias=None),
        positions=positions,
        norm=norm,
        mlp=mlp,
        mlp_bias=bias,
        tied=tied,
    )


def build_gpt2(
    *,
    vocabulary: int = 50257,
    context: int = 1024,
    attention: str | AttentionConfig = "qvv3",
    width: int = 1024,
    depth: int = 12,
    heads: int | None = None,
    hidden: int = 0,
    tied: bool = False,
) -> nn.Module:
    """Return a decoder of the GPT-2 shape: learned positions, LayerNorm, GELU of 4 times the width, biases.

    Parameters
    ----------
    vocabulary, context, width, depth, tied
        As in `Decoder`.
    attention : str or AttentionConfig
        A preset's name, or a unit.
    heads : int or None
        None: 16, or what the unit itself says.
    hidden : int
        Features of the MLP; 0 for 4 times the width.

    Returns
    -------
    Decoder
    """
    return Decoder(
        vocabulary=vocabulary,
        context=context,
        width=width,
        depth=depth,
        hidden=hidden or 4 * width,
        attention=with_heads(attention, heads, None, 16),
        positions="learned",
        norm="layer",
        mlp="gelu",
        mlp_bias=True,
        tied=tied,
    )


def build_gpt2_36(
    *,
    vocabulary: int = 50257,
    context: int = 1024,
    attention: str | AttentionConfig = "qvv3",
    width: int = 1024,
    depth: int = 36,
    heads: int | None = None,
    hidden: int = 0,
    tied: bool = False,
) -> nn.Module:
    """Return `gpt2-12` with 36 layers.

    Parameters
    ----------
    vocabulary, context, attention, width, depth, heads, hidden, tied
        As in `build_gpt2`.

    Returns
    -------
    Decoder
    """
    return build_gpt2(
        vocabulary=vocabulary,
        context=context,
        attention=attention,
        width=width,
        depth=depth,
        heads=heads,
        hidden=hidden,
        tied=tied,
    )


def build_qwen2(
    *,
    vocabulary: int = 151936,
    context: int = 32768,
    attention: str | AttentionConfig = "qvv3",
    width: int = 1536,
    depth: int = 28,
    heads: int = 12,
    kv_heads: int = 2,
    hidden: int = 8960,
) -> nn.Module:
    """Return a decoder of the Qwen2-1.5B shape: grouped queries, biases of Q, K and V only, tied embeddings.

    Parameters
    ----------
    vocabulary, context, width, depth, hidden
        As in `Decoder`.
    attention : str or AttentionConfig
        A preset's name, or a unit; its biases and `rope_base` are replaced.
    heads, kv_heads : int
        Heads of queries, and of keys and values; the second divides the first.

    Returns
    -------
    Decoder
    """
    config = with_heads(attention, heads, kv_heads, heads)
    return Decoder(
        vocabulary=vocabulary,
        context=context,
        width=width,
        depth=depth,
        hidden=hidden,
        attention=replace(config, bias=True, output_bias=False, rope_base=1e6),
        eps=1e-6,
    )
