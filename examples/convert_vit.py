"""A vision transformer as timm writes it, with most of its products made multiplication-free.

The network is written in plain torch: `patch_embed`, `cls_token` and `pos_embed`, `blocks` with `norm1`, `attn`
(`qkv`, `proj`), `norm2` and `mlp` (`fc1`, `fc2`), `norm` and `head`. The rules turn the linear layers of the
blocks into MF products, each with a batch norm of power-of-two gains behind it, and the square `proj` behind each
attention into a Walsh-Hadamard layer. The converted network runs and trains in float; softmax and layer norms are as
they were.
"""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.nn import functional as F

import mfsim
from mfsim.data import load
from mfsim.train import accuracy

RULES = """
[[rules]]
match = "blocks"
to = "mf"
norm = true         # no batch norm follows, and without one the sums grow too large

[[rules]]
match = "blocks.*.attn.proj"
to = "wht"
residual = false    # the block adds its input itself

[[rules]]
match = "head"
to = "mf"
norm = true
"""


class PatchEmbed(nn.Module):
    """Cut an image into patches and project each."""

    def __init__(self, channels: int, side: int, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(channels, width, side, side)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens [N, T, width]."""
        return self.proj(x).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    """Self-attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens [N, T, width]."""
        count, tokens, width = x.shape
        qkv = self.qkv(x).reshape(count, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*qkv.unbind(0))
        return self.proj(mixed.transpose(1, 2).reshape(count, tokens, width))


class Mlp(nn.Module):
    """Two linear layers with a GELU between."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens [N, T, width]."""
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    """Attention and MLP, each behind a layer norm and with a residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return tokens [N, T, width]."""
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Patches with a class token and positions, blocks, and a classifier on the class token."""

    def __init__(
        self, input_shape: tuple[int, int, int], classes: int, side: int, width: int, depth: int, heads: int
    ) -> None:
        super().__init__()
        tokens = (input_shape[1] // side) * (input_shape[2] // side)
        self.patch_embed = PatchEmbed(input_shape[0], side, width)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.randn(1, tokens + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return one number for each class."""
        x = self.patch_embed(x)
        x = torch.cat((self.cls_token.expand(len(x), -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def vit(
    input_shape: tuple[int, int, int] = (3, 224, 224),
    classes: int = 1000,
    side: int = 16,
    width: int = 256,
    depth: int = 12,
    heads: int = 4,
) -> VisionTransformer:
    """Return a vision transformer for images of `input_shape` (C, H, W), cut into patches of `side` x `side`."""
    return VisionTransformer(input_shape, classes, side, width, depth, heads)


def main(epochs: int = 4) -> None:
    """Convert a small transformer, print the report, and train the result for a moment."""
    torch.manual_seed(0)
    digits = load("digits")
    network = vit(digits.input_shape, digits.classes, side=2, width=32, depth=2, heads=2)
    conversion = mfsim.convert(
        network, mfsim.Rules.from_toml(RULES), example=torch.from_numpy(digits.validation.first(2).images)
    )
    print(conversion.text())
    losses: list[float] = []
    mfsim.train(
        conversion.model,
        digits,
        epochs=epochs,
        learning_rate=0.01,
        progress=lambda epoch, total: losses.append(round(epoch.loss, 3)),
    )
    print("\nloss of each epoch:", losses)
    print(f"{accuracy(conversion.model, digits.test):.2%} of the test images are classified correctly")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
