"""`min-transformer`: the encoders of "Reducing the Transformer Architecture to a Minimum" (arXiv 2410.13732).

The paper's widths are in no public copy. The defaults are ours: width 64, MLP of 256, 16 patches (4 x 4 on
28 x 28 and 32 x 32 pixels), learned positions, no class token, the mean of all tokens into a linear head.
Without an MLP there is no second norm.
"""

from __future__ import annotations

from torch import nn

from mfsim.nn.attention import AttentionConfig
from mfsim.nn.models.vit import ViT, default_patch, with_heads


def build(
    input_shape: tuple[int, int, int],
    classes: int,
    *,
    attention: str | AttentionConfig = "wqk-novo",
    width: int = 64,
    depth: int = 6,
    heads: int | None = None,
    kv_heads: int | None = None,
    hidden: int = 256,
    patch: int = 0,
    norm: str = "layer",
    mlp: str = "none",
    residual: bool = True,
) -> nn.Module:
    """Return the encoders for images of `input_shape` (C, H, W).

    Parameters
    ----------
    attention : str or AttentionConfig
        A preset's name, or a unit. `chained-vo` needs `residual` False and no norm.
    depth : int
        Encoders, 6 or 12 in the paper.
    heads, kv_heads : int or None
        None: 1 and the unit's, or what the unit itself says.
    patch : int
        Side of a patch; 0 for the largest that leaves at least 4 patches on each side.
    mlp : str
        "gelu" for the paper's encoders with an MLP; `hidden` features.
    width, norm, residual
        As in `mfsim.nn.models.vit.ViT`.
    """
    return ViT(
        input_shape,
        classes,
        width=width,
        depth=depth,
        hidden=hidden,
        patch=patch or default_patch(*input_shape[1:], 4),
        attention=with_heads(attention, heads, kv_heads, 1),
        norm=norm,
        mlp=mlp,
        head="mean",
        residual=residual,
    )
