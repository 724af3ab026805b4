"""The Walsh-Hadamard transform as a differentiable torch function."""

from __future__ import annotations

import functools

import numpy as np
import torch

from mfsim.errors import ShapeError
from mfsim.ops.torch_node import choice, emitted, exporting, observed
from mfsim.ops.wht.wht import ORDERS, block_length, norm_exponent

RADIX = 64
"""Longest Walsh-Hadamard transform done as one product with H; longer ones are split."""


@functools.lru_cache
def _hadamard(n: int) -> np.ndarray:
    h = np.ones((1, 1))
    while len(h) < n:
        h = np.block([[h, h], [h, -h]])
    return h


@functools.lru_cache
def _natural_rows(n: int, order: str) -> list[int]:
    """Return the natural row of each row: its bits in reverse, of its Gray code for sequency."""
    digits = n.bit_length() - 1
    codes = [s ^ (s >> 1) if order == "sequency" else s for s in range(n)]
    return [int(f"{code:0{digits}b}"[::-1], 2) for code in codes] if n > 1 else [0]


def _transform(x: torch.Tensor, n: int) -> torch.Tensor:
    """Return H x along the last axis of length n, natural order: H_(a b) is H_a (x) H_b."""
    low = min(n, RADIX)
    y = x.reshape(-1, n // low, low) @ x.new_tensor(_hadamard(low))
    if n > low:
        y = _transform(y.transpose(1, 2), n // low).transpose(1, 2)
    return y.reshape(x.shape)


@observed
def wht(
    x: torch.Tensor, *, block: int = 0, dims: int = 1, order: str = "natural", norm: str = "none", inverse: bool = False
) -> torch.Tensor:
    """Return the Walsh-Hadamard transform of the last axis, or of the last two.

    Parameters
    ----------
    x : tensor, shape [..., n]
        n is a power of two, or a multiple of `block`.
    block : int
        Transform blocks of this power of two; 0 for the whole axis.
    dims : {1, 2}
        How many of the last axes are transformed.
    order : {"natural", "sequency", "dyadic"}
        Rows as Sylvester made them, sorted by their number of sign changes, or as Paley made them.
    norm : {"none", "shift", "ortho"}
        Factor 1; 2**-floor(q/2) forward and 2**-ceil(q/2) back; 2**(-q/2), for even q only. q is log2
        of the product of the transformed lengths.
    inverse : bool
        Use the norm of the way back.

    Returns
    -------
    tensor of the shape of x; B-bit codes give codes of B + q bits, exact.

    Raises
    ------
    ShapeError
        If a length is no power of two, or `block` does not divide its axis.
    FormatError
        If `norm` is ortho and q is odd, or an option is unknown.
    """
    choice("dims", dims, (1, 2))
    choice("order", order, ORDERS)
    choice("norm", norm, ("none", "shift", "ortho"))
    if x.ndim < 1 + dims:
        raise ShapeError(f"`dims` {dims} of a transform needs {dims} axes behind the batch, not shape {tuple(x.shape)}")
    lengths = {-1 - k: block_length(int(x.shape[-1 - k]), block) for k in range(dims)}
    gain = 2.0 ** norm_exponent(sum(n.bit_length() - 1 for n in lengths.values()), norm, int(inverse))
    if exporting():
        attributes = {"block": block, "dims": dims, "order": order, "norm": norm, "inverse": int(inverse)}
        return emitted("WHT", (x,), attributes, x.shape)
    for axis, n in lengths.items():
        moved = x.movedim(axis, -1)
        blocks = _transform(moved.reshape(*moved.shape[:-1], moved.shape[-1] // n, n), n)
        if order != "natural":
            blocks = blocks[..., _natural_rows(n, order)]
        x = blocks.reshape(moved.shape).movedim(-1, axis)
    return x * gain if gain != 1 else x
