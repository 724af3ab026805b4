"""`Rope`, `TokenEmbedding`, `CachedRows`: what transformers do to rows of tokens."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import FormatError, ShapeError

# `Rope`: rotary position embedding of queries and keys.


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
        """Return x [..., T, length] rotated; its rows are the positions from `start` on.

        Parameters
        ----------
        x : float tensor, shape [..., T, length]
            Rows of T successive tokens.
        start : int, at least 0
            Position of the first row; `start` + T is at most `tokens`.

        Returns
        -------
        float tensor, shape [..., T, length]

        Raises
        ------
        ShapeError
            If x has another width, or positions beyond `tokens` - 1.
        """
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


# `TokenEmbedding`: a class token in front of a row of tokens, and a learned position for each.
#
# As one constant E of shape [1, T, width] it is: put a zero row in front, add E, whose row 0 is the
# class token with its position. Both steps are exact on codes.

INITIAL = 0.02
"""Standard deviation of fresh positions and class tokens."""


class TokenEmbedding(nn.Module):
    """Prepend a learned class token, and add learned positions.

    Parameters
    ----------
    tokens, width : int
        Number of tokens that come in, and features of each; at least 1.
    class_token : bool
        Whether a token is put in front.

    Attributes
    ----------
    positions : parameter, shape [1, T, width]
        T is `tokens`, and one more with a class token.
    class_token : parameter, shape [1, 1, width], or None
    """

    def __init__(self, tokens: int, width: int, class_token: bool = True) -> None:
        super().__init__()
        if tokens < 1 or width < 1:
            raise ShapeError(f"`tokens` and `width` must be at least 1, not {tokens} and {width}")
        self.tokens, self.width = tokens, width
        self.positions = nn.Parameter(torch.randn(1, tokens + int(class_token), width) * INITIAL)
        self.class_token = nn.Parameter(torch.randn(1, 1, width) * INITIAL) if class_token else None

    def constant(self) -> torch.Tensor:
        """Return what is added, shape [1, T, width]: the positions, and the class token in row 0."""
        if self.class_token is None:
            return self.positions
        return self.positions + F.pad(self.class_token, (0, 0, 0, self.tokens))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the tokens with their positions.

        Parameters
        ----------
        x : float tensor, shape [N, tokens, width]

        Returns
        -------
        float tensor, shape [N, T, width]
            T is `tokens`, and one more with a class token, which stands in row 0.

        Raises
        ------
        ShapeError
            If x has another shape.
        """
        if x.ndim != 3 or x.shape[1:] != (self.tokens, self.width):
            raise ShapeError(f"x must be [N, {self.tokens}, {self.width}], not {list(x.shape)}")
        if self.class_token is not None:
            x = F.pad(x, (0, 0, 1, 0))
        return x + self.constant()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.tokens}, {self.width}, class_token={self.class_token is not None}"


# `CachedRows`: where the rows pass that decoding keeps for later tokens.


class CachedRows(nn.Identity):
    """Hand on rows. Quantized, it has a quantizer behind it, whatever the recipe.

    So all that reads the rows, for this token or a later one, reads the codes that a cache holds.
    """
