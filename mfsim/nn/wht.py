"""`WHT`: the Walsh-Hadamard transform as a layer, and what to do with sizes that are no power of two."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn import functional

SIZES = ("exact", "pad", "block")
"""A length that is no power of two is an error, is padded with zeros, or is cut into blocks."""


def next_power_of_two(n: int) -> int:
    """Return the least power of two that is at least n >= 1."""
    return 1 << (n - 1).bit_length()


def fit_lengths(lengths: tuple[int, ...], size: str) -> tuple[tuple[int, ...], int]:
    """Return (lengths to pad to, block or 0) for axes of `lengths` under the rule `size`.

    Raises
    ------
    ShapeError
        If a length is no power of two and `size` is exact, or no power of two above 1 divides all.
    FormatError
        If `size` is unknown.
    """
    if size not in SIZES:
        raise FormatError(f"`size` must be one of {', '.join(SIZES)}, not {size!r}{did_you_mean(str(size), SIZES)}")
    if all(n == next_power_of_two(n) for n in lengths):
        return lengths, 0
    if size == "pad":
        return tuple(next_power_of_two(n) for n in lengths), 0
    shown = " x ".join(str(n) for n in lengths)
    common = math.gcd(*lengths)
    block = common & -common
    if size == "block" and block > 1:
        return lengths, block
    if size == "block":
        raise ShapeError(f"no power of two above 1 divides {shown}, so it cannot be cut into blocks; use `size` pad")
    advice = "`size` pad (zeros up to {}){}".format(
        " x ".join(str(next_power_of_two(n)) for n in lengths), f" or block (blocks of {block})" if block > 1 else ""
    )
    raise ShapeError(f"the length of a Walsh-Hadamard transform must be a power of two, not {shown}; use {advice}")


class WHT(nn.Module):
    """Walsh-Hadamard transform of the last axis, or of the last two.

    Parameters
    ----------
    block, dims, order, norm, inverse
        As in `mfsim.nn.functional.wht`. The default norm `shift` makes forward and inverse undo each
        other exactly.
    size : {"exact", "pad", "block"}
        For lengths that are no power of two (with `block` 0): an error; zeros behind the values, so
        that the result is longer; or blocks of the largest power of two that divides them.
    """

    def __init__(
        self,
        *,
        block: int = 0,
        dims: int = 1,
        order: str = "natural",
        norm: str = "shift",
        inverse: bool = False,
        size: str = "exact",
    ) -> None:
        super().__init__()
        fit_lengths((1,), size)
        self.block, self.dims, self.order, self.norm, self.inverse, self.size = block, dims, order, norm, inverse, size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the transform of x."""
        block = self.block
        if not block and x.ndim > self.dims:
            lengths = tuple(int(n) for n in x.shape[x.ndim - self.dims :])
            padded, block = fit_lengths(lengths, self.size)
            x = pad_to(x, padded)
        return functional.wht(x, block=block, dims=self.dims, order=self.order, norm=self.norm, inverse=self.inverse)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"block={self.block}, dims={self.dims}, order={self.order}, norm={self.norm}, inverse={self.inverse}, size={self.size}"


def pad_to(x: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    """Return x with zeros behind its last axes, up to `lengths`."""
    pads = [p for k, n in enumerate(reversed(lengths)) for p in (0, n - int(x.shape[-1 - k]))]
    return F.pad(x, pads) if any(pads) else x
