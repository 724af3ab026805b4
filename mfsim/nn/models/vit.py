"""Vision transformers for small images: `mini-vit`, `compact-vit`, `mf-vit`.

Pre-norm blocks over patches with a class token, learned positions, a final norm, and a linear layer on
the class token. Mini-ViT and the compact ViT are those of "Learned Queries and Keys Are All You Need"
(arXiv 2609.36698), whose parameter counts fix class token, positions, biases and final norm; norms in
front of the parts and the exact GELU are our choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import ModelError, ShapeError
from mfsim.nn.attention import Attention, AttentionConfig, attention_config
from mfsim.nn.attention.unit import through
from mfsim.nn.models.layers import Block, check_choice, make_mlp, make_norm
from mfsim.nn.pool import GlobalAvgPool2d
from mfsim.nn.projections import KINDS, make_conv2d, make_linear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.tokens import TokenEmbedding
from mfsim.nn.wht import next_power_of_two


def default_patch(rows: int, columns: int, side: int) -> int:
    """Return the largest patch that leaves at least `side` patches on each side, else the smallest above 1.

    Parameters
    ----------
    rows, columns : int, at least 1
        Pixels of an image.
    side : int, at least 1
        Patches that each side should have at least.

    Returns
    -------
    int
        Pixels of a patch's side; divides both. 1 where nothing larger does.
    """
    common = math.gcd(rows, columns)
    divisors = [p for p in range(1, common + 1) if common % p == 0]
    fitting = [p for p in divisors if p > 1 and min(rows, columns) // p >= side]
    return fitting[-1] if fitting else divisors[min(1, len(divisors) - 1)]


def with_heads(
    attention: str | AttentionConfig, heads: int | None, kv_heads: int | None, default: int
) -> AttentionConfig:
    """Return the unit with its heads: as given, else its own where it has one or is no preset, else `default`.

    Parameters
    ----------
    attention : str or AttentionConfig
        A preset's name, or a unit.
    heads, kv_heads : int or None
        Heads of queries, and of keys and values; None as said above, and for the unit's.
    default : int
        Heads of a preset that has more than one.

    Returns
    -------
    AttentionConfig

    Raises
    ------
    UnsupportedOpError
        If there is no such preset.
    """
    config = attention_config(attention)
    if heads is None:
        heads = config.heads if isinstance(attention, AttentionConfig) or config.heads == 1 else default
    return replace(config, heads=heads, kv_heads=config.kv_heads if kv_heads is None else kv_heads)


class TokenMean(nn.Module):
    """Mean over the tokens of x [N, T, width], [N, width]; divided by the next power of two of T instead of T."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = GlobalAvgPool2d()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sums, scaled.

        Parameters
        ----------
        x : float tensor, shape [N, T, width]

        Returns
        -------
        float tensor, shape [N, width]
            Sums over the tokens, divided by the least power of two of at least T.
        """
        tokens = int(x.shape[1])
        plane = F.pad(x.transpose(1, 2), (0, next_power_of_two(tokens) - tokens)).unsqueeze(2)
        return torch.flatten(self.pool(plane), 1)


class ViT(nn.Module):
    """A vision transformer.

    Parameters
    ----------
    input_shape : (C, H, W)
        Of one image; the patch must divide both sides.
    classes, width, depth, hidden, patch : int
        `depth` blocks with MLPs of `hidden` features.
    attention : AttentionConfig
    norm, mlp : str
        Of `mfsim.nn.models.layers.NORMS`, `MLPS`.
    projection : {"dense", "mf", "power-of-two"}
        Kind of the patch embedding and of the head.
    head : {"class-token", "mean"}
        What the head reads.
    residual : bool
        Whether the blocks add their inputs. A unit with `output` chained needs none, no norm and no MLP.
    """

    def __init__(
        self,
        input_shape: Sequence[int],
        classes: int,
        *,
        width: int,
        depth: int,
        hidden: int,
        patch: int,
        attention: AttentionConfig,
        norm: str = "layer",
        mlp: str = "gelu",
        projection: str = "dense",
        head: str = "class-token",
        residual: bool = True,
    ) -> None:
        super().__init__()
        channels, rows, columns = input_shape
        check_choice("projection", projection, KINDS)
        check_choice("head", head, ("class-token", "mean"))
        if patch < 1 or rows % patch or columns % patch:
            raise ShapeError(f"`patch` must divide both sides of the image, {rows} x {columns}, which {patch} does not")
        chained = attention.output == "chained"
        if chained and (residual or norm != "none" or mlp != "none"):
            raise ModelError(
                "an attention unit with `output` chained needs a model without residuals, norms and MLPs "
                f"(`residual` False, `norm` none, `mlp` none), not {residual}, {norm} and {mlp}"
            )
        batch = norm == "shift-batch"
        if batch:
            attention = replace(attention, projection_norm=norm)
        grid = rows // patch, columns // patch
        patches = grid[0] * grid[1]
        self.embed = make_conv2d(projection, channels, width, patch, stride=patch, bias=not batch)
        self.embed_norm = ShiftBatchNorm2d(width) if batch else None
        self.tokens = TokenEmbedding(patches, width, class_token=head == "class-token")
        count = patches + int(head == "class-token")
        self.blocks = nn.ModuleList(
            Block(
                Attention(attention, width, count, grid=grid),
                norm,
                make_mlp(mlp, width, hidden, norm=norm),
                residual=residual,
            )
            for _ in range(depth)
        )
        self.chained = nn.Linear(width, width, bias=attention.bias) if chained else None
        self.norm = make_norm(norm, width)
        self.mean = TokenMean() if head == "mean" else None
        own_norm = batch and projection == "mf"
        self.head = make_linear(projection, width, classes, not own_norm)
        self.head_norm = ShiftBatchNorm1d(classes) if own_norm else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of the classes.

        Parameters
        ----------
        x : float tensor, shape [N, C, H, W]
            Images of `input_shape`.

        Returns
        -------
        float tensor, shape [N, classes]
        """
        x = through(self.embed_norm, self.embed(x))
        x = self.tokens(x.flatten(2).transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        x = through(self.norm, through(self.chained, x))
        x = x[:, 0] if self.mean is None else self.mean(x)
        return through(self.head_norm, self.head(x))


def build_mini(
    input_shape: tuple[int, int, int],
    classes: int,
    *,
    attention: str | AttentionConfig = "qkv",
    width: int = 128,
    depth: int = 4,
    heads: int | None = None,
    kv_heads: int | None = None,
    hidden: int = 256,
    patch: int = 0,
    norm: str = "layer",
    mlp: str = "gelu",
    projection: str = "dense",
    head: str = "class-token",
) -> nn.Module:
    """Return Mini-ViT for images of `input_shape` (C, H, W); on 3 x 32 x 32 it is the paper's.

    Parameters
    ----------
    attention : str or AttentionConfig
        A preset's name, or a unit.
    heads, kv_heads : int or None
        None: 4 and the unit's, or what the unit itself says.
    patch : int
        Side of a patch; 0 for the largest that leaves at least 7 patches on each side, else the smallest
        above 1 (4 for 28 and 32 pixels, 2 for 8).
    width, depth, hidden, norm, mlp, projection, head
        As in `ViT`.
    input_shape : (C, H, W)
        Of one image; the patch divides both sides.
    classes : int, at least 2
        Number of outputs.

    Returns
    -------
    ViT
    """
    return ViT(
        input_shape,
        classes,
        width=width,
        depth=depth,
        hidden=hidden,
        patch=patch or default_patch(*input_shape[1:], 7),
        attention=with_heads(attention, heads, kv_heads, 4),
        norm=norm,
        mlp=mlp,
        projection=projection,
        head=head,
    )


def build_compact(
    input_shape: tuple[int, int, int],
    classes: int,
    *,
    attention: str | AttentionConfig = "qkv",
    width: int = 192,
    depth: int = 6,
    heads: int | None = None,
    kv_heads: int | None = None,
    hidden: int = 768,
    patch: int = 0,
    norm: str = "layer",
    mlp: str = "gelu",
) -> nn.Module:
    """Return the compact ViT, by default with 3 heads; options as in `mini-vit`.

    Parameters
    ----------
    input_shape : (C, H, W)
        Of one image; the patch divides both sides.
    classes : int, at least 2
        Number of outputs.
    attention, kv_heads, patch
        As in `build_mini`.
    width, depth, hidden, norm, mlp
        As in `ViT`.
    heads : int or None
        None: 3, or what the unit itself says.

    Returns
    -------
    ViT
    """
    return build_mini(
        input_shape,
        classes,
        attention=with_heads(attention, heads, kv_heads, 3),
        width=width,
        depth=depth,
        hidden=hidden,
        patch=patch,
        norm=norm,
        mlp=mlp,
    )


def build_mf(
    input_shape: tuple[int, int, int],
    classes: int,
    *,
    attention: str | AttentionConfig = "mf-attention",
    width: int = 64,
    depth: int = 2,
    heads: int | None = None,
    kv_heads: int | None = None,
    hidden: int = 128,
    patch: int = 0,
    head: str = "mean",
) -> nn.Module:
    """Return the ViT that neither multiplies nor divides between patches and logits.

    MF projections, scores, aggregation, MLP and head; tanh from a table, normalised by a shift; batch
    norm whose gains are powers of two behind every product; the mean of all tokens, whose division is a
    shift. Options as in `mini-vit`.

    Signs of weights turn late with small steps: of the learning rates 0.005, 0.015, 0.03 and 0.06 the
    last two trained best on digits.

    Parameters
    ----------
    input_shape : (C, H, W)
        Of one image; the patch divides both sides.
    classes : int, at least 2
        Number of outputs.
    attention, heads, kv_heads, patch
        As in `build_mini`.
    width, depth, hidden, head
        As in `ViT`.

    Returns
    -------
    ViT
    """
    return build_mini(
        input_shape,
        classes,
        attention=attention,
        width=width,
        depth=depth,
        heads=heads,
        kv_heads=kv_heads,
        hidden=hidden,
        patch=patch,
        norm="shift-batch",
        mlp="mf",
        projection="mf",
        head=head,
    )
