"""`TokenEmbedding`: a class token in front of a row of tokens, and a learned position for each.

As one constant E of shape [1, T, width] it is: put a zero row in front, add E, whose row 0 is the
class token with its position. Both steps are exact on codes.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import ShapeError

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
        """Return the tokens with their positions, shape [N, T, width], for x of shape [N, tokens, width]."""
        if x.ndim != 3 or x.shape[1:] != (self.tokens, self.width):
            raise ShapeError(f"x must be [N, {self.tokens}, {self.width}], not {list(x.shape)}")
        if self.class_token is not None:
            x = F.pad(x, (0, 0, 1, 0))
        return x + self.constant()

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"{self.tokens}, {self.width}, class_token={self.class_token is not None}"
