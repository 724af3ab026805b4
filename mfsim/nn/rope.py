"""`Rope`: rotary position embedding of queries and keys."""

from __future__ import annotations

import torch
from torch import nn

from mfsim.errors import FormatError, ShapeError


class Rope(nn.Module):
    """Rotate feature pairs (i, i + length / 2) of the last axis by position * base**(-2 i / length).

    Scores of rotated queries and keys depend on the difference of their positions alone.
    Source: Su et al., "RoFormer", arXiv 2104.09864, section 3.2.2; pairs as in the public Qwen2 code.

    Parameters
    ----------
    length : int
        Of the last axis, even.
    tokens : int
        Positions 0 .. tokens - 1 can be rotated; at least 1.
    base : float
        Above 1.

    Raises
    ------
    ShapeError, FormatError
        If a size cannot be, or `base` is not above 1.
    """

    cosines: torch.Tensor
    sines: torch.Tensor

    def __init__(self, length: int, tokens: int, base: float = 10000.0) -> None:
        super().__init__()
        if length < 2 or length % 2:
            raise ShapeError(f"rotary positions need a head width that is even, not {length}")
        if tokens < 1:
            raise ShapeError(f"`tokens` of rotary positions must be at least 1, not {tokens}")
        if not base > 1:
            raise FormatError(f"`base` of rotary positions must be above 1, not {base}")
        self.length, self.tokens, self.base = length, tokens, base
        rates = base ** (-torch.arange(0, length, 2, dtype=torch.float64) / length)
        angles = torch.arange(tokens, dtype=torch.float64)[:, None] * rates
        self.register_buffer("cosines", torch.cos(angles).float(), persistent=False)
        self.register_buffer("sines", torch.sin(angles).float(), persistent=False)

    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Return x [..., T, length] rotated; its rows are the positions from `start` on."""
        if x.ndim < 2 or x.shape[-1] != self.length or start + x.shape[-2] > self.tokens:
            raise ShapeError(
                f"rotary positions of {self.tokens} tokens of width {self.length} do not suit x {tuple(x.shape)} "
                f"from position {start} on"
            )
        rows = slice(start, start + x.shape[-2])
        cosines, sines = self.cosines[rows], self.sines[rows]
        first, second = x[..., : self.length // 2], x[..., self.length // 2 :]
        return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.length}, tokens={self.tokens}, base={self.base:g}"
