"""Changes of grid and word as differentiable torch functions."""

from __future__ import annotations

import torch

from mfsim.ir.formats import Overflow
from mfsim.ops.torch_node import emitted, exporting, observed


@observed
def shift(x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """Return x * gain for gains that are powers of two and broadcast against x: a change of scale.

    Parameters
    ----------
    x : float tensor
        Of any shape.
    gain : float tensor
        Positive powers of two; broadcast against x.

    Returns
    -------
    float tensor, shape of x
        Exact unless it leaves the range of the type.
    """
    if exporting():
        return emitted("Shift", (x, gain), {}, x.shape)
    return x * gain


@observed
def accumulator(
    x: torch.Tensor,
    scale: torch.Tensor | float,
    bit_width: torch.Tensor | int,
    *,
    overflow: str = "saturate",
    signed: bool = True,
) -> torch.Tensor:
    """Return x, whose values are integers times `scale`, as a word of `bit_width` bits holds it.

    `overflow` saturate clamps to the ends of the word; wrap takes the code modulo 2**bit_width (its
    gradient passes straight through). `scale` broadcasts against x.

    Parameters
    ----------
    x : float tensor
        Integers times `scale`.
    scale : float tensor or float
        Positive.
    bit_width : float tensor or int
        Bits of the word, at least 1.
    overflow : {"saturate", "wrap"}
        What happens to codes outside the word.
    signed : bool
        Whether the word is signed.

    Returns
    -------
    float tensor, shape of x
        Codes of the word times `scale`.

    Raises
    ------
    FormatError
        If there is no rule `overflow`.
    """
    overflow = Overflow.parse(overflow).value
    scale = torch.as_tensor(scale, dtype=x.dtype, device=x.device)
    if exporting():
        bit_width = torch.as_tensor(bit_width, dtype=x.dtype, device=x.device)
        return emitted("Accumulator", (x, scale, bit_width), {"overflow": overflow, "signed": int(signed)}, x.shape)
    codes, modulus = x / scale, 2.0 ** int(bit_width)
    lo = -modulus / 2 if signed else 0.0
    if overflow == "saturate":
        return codes.clamp(lo, lo + modulus - 1) * scale
    wrapped = (codes - modulus * torch.floor((codes - lo) / modulus)) * scale
    return wrapped.detach() + (x - x.detach())
