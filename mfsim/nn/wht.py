"""`WHT`, the Walsh-Hadamard transform as a layer, and `WHTLayer`, an inner product in its domain."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from mfsim.errors import FormatError, ShapeError, did_you_mean
from mfsim.nn import functional
from mfsim.nn.gains import KINDS, Scaling
from mfsim.nn.mf import MFLinear
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d
from mfsim.nn.thresholds import SmoothThreshold, SoftThreshold
from mfsim.ops.wht.wht import OP as WHT_OP

# `WHT`: the Walsh-Hadamard transform as a layer, and what to do with sizes that are no power of two.

SIZES = ("exact", "pad", "block")
"""A length that is no power of two is an error, is padded with zeros, or is cut into blocks."""


def next_power_of_two(n: int) -> int:
    """Return the least power of two that is at least n >= 1.

    Parameters
    ----------
    n : int, at least 1

    Returns
    -------
    int
        In n .. 2 n - 1.
    """
    return 1 << (n - 1).bit_length()


def fit_lengths(lengths: tuple[int, ...], size: str) -> tuple[tuple[int, ...], int]:
    """Return the lengths that a Walsh-Hadamard transform takes under the rule `size`.

    Parameters
    ----------
    lengths : tuple of int, each at least 1
        Of the transformed axes.
    size : {"exact", "pad", "block"}
        The rule for a length that is no power of two.

    Returns
    -------
    tuple of (tuple of int, int)
        Lengths to pad to, and the block, or 0 for one transform of the whole length.

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

    exported_as: ClassVar[tuple[str, ...]] = WHT_OP.onnx.op_types

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
        """Return the Walsh-Hadamard transform of x.

        Parameters
        ----------
        x : float tensor, shape [..., n] or [..., rows, columns]
            The second for two dimensions; lengths that suit `block` and `size`.

        Returns
        -------
        float tensor, of the shape of x
            With `size` pad, each transformed axis has the next power of two.

        Raises
        ------
        ShapeError
            If a length does not suit `block` and `size`.
        """
        block = self.block
        if not block and x.ndim > self.dims:
            lengths = tuple(int(n) for n in x.shape[x.ndim - self.dims :])
            padded, block = fit_lengths(lengths, self.size)
            x = _pad_to(x, padded)
        return functional.wht(x, block=block, dims=self.dims, order=self.order, norm=self.norm, inverse=self.inverse)

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return f"block={self.block}, dims={self.dims}, order={self.order}, norm={self.norm}, inverse={self.inverse}, size={self.size}"


def _pad_to(x: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    """Return x with zeros behind its last axes, up to `lengths`."""
    pads = [p for k, n in enumerate(reversed(lengths)) for p in (0, n - int(x.shape[-1 - k]))]
    return F.pad(x, pads) if any(pads) else x


# `WHTLayer`: an inner product in the Walsh-Hadamard domain, with a residual.
#
#     entry -> WHT -> threshold -> scaling -> MF product across channels -> norm -> inverse WHT -> + entry
#
# After Pan, Badawi and Cetin (ICML 2023), with two changes that make the layer multiplication-free:
# the 1x1 convolution of the original is an MF product, as in HTMA-Net, and the batch norm's gain is a
# power of two. The learned scale v of each coefficient is left out, or restricted to powers of two, or kept as the
# multiplication that it is; behind the threshold it is the same family of layers as in front of it, for v > 0. The threshold stands in front of the product, where it sets
# small coefficients to exactly 0, whose sign then drops out of the product as well.
#
# Every step is a named submodule, which a quantizer may replace: `entry` (an identity: the one value
# that the transform and the residual share), `transform`, `threshold`, `scaling`, `product`, `norm`, `inverse`.
# Behind `norm` each channel may have its own scale; the inverse transform over channels needs one
# scale, so a quantizer stands there.

OVER = ("channels", "plane")

SCALINGS = ("none", *KINDS)


class WHTLayer(nn.Module):
    """A residual layer [N, C, H, W] to [N, C, H, W], or [N, ..., C] to the same over channels.

    Parameters
    ----------
    channels : int
        C; over channels it is the transform's length.
    plane : (rows, columns), only with `over` plane
        H and W, the transform's lengths.
    over : {"channels", "plane"}
        Transform across the channels at each position, or each channel's plane in two dimensions.
    layout : {"image", "features"}
        Whether the channels are axis 1 of [N, C, H, W], or the last axis.
    norm : bool
        Whether a batch norm with power-of-two gains follows the product; else the product has a bias.
    residual : bool
        Whether the input is added to the result.
    order, form, sign_zero, grid
        As in `WHT` and `MFLinear`.
    size : {"exact", "pad", "block"}
        For transform lengths that are no power of two: an error; zeros, cut off again at the end;
        blocks of the largest power of two that divides them.
    threshold : float
        The threshold before training, at least 0; there is one for each coefficient.
    smooth : bool
        Whether the threshold is tanh(x) max(|x| - T, 0), which multiplies, in place of the soft one.
    scaling : {"none", "multiply", "shift"}
        Of each coefficient: none, by a learned number, or by a learned power of two.

    Raises
    ------
    ShapeError, FormatError
        If a length does not suit `size`, or an option is unknown.
    """

    def __init__(
        self,
        channels: int,
        plane: tuple[int, int] | None = None,
        *,
        over: str = "channels",
        layout: str = "image",
        norm: bool = True,
        residual: bool = True,
        order: str = "natural",
        form: str = "ef",
        sign_zero: int = 0,
        grid: str = "split",
        size: str = "exact",
        threshold: float = 0.05,
        smooth: bool = False,
        scaling: str = "none",
    ) -> None:
        super().__init__()
        choices = (("over", over, OVER), ("layout", layout, ("image", "features")), ("scaling", scaling, SCALINGS))
        for name, value, known in choices:
            if value not in known:
                raise FormatError(
                    f"`{name}` must be one of {', '.join(known)}, not {value!r}{did_you_mean(str(value), known)}"
                )
        self.lengths: tuple[int, ...] = (channels,)
        if over == "plane":
            if plane is None or layout != "image":
                raise ShapeError("a WHTLayer with `over` plane needs `plane` (rows, columns) and `layout` image")
            self.lengths = tuple(plane)
        self.channels, self.over, self.layout, self.residual = channels, over, layout, residual
        self.padded, block = fit_lengths(self.lengths, size)
        coefficients = 1
        for n in self.padded:
            coefficients *= n
        width = self.padded[0] if over == "channels" else channels
        dims = len(self.lengths)
        self.entry = nn.Identity()
        self.transform = WHT(block=block, dims=dims, order=order, norm="shift")
        axis = -1 if over == "channels" else -2
        self.threshold = (SmoothThreshold if smooth else SoftThreshold)(coefficients, axis, threshold)
        self.scaling = nn.Identity() if scaling == "none" else Scaling(coefficients, axis, scaling)
        self.product = MFLinear(width, width, bias=not norm, form=form, sign_zero=sign_zero, grid=grid)
        self.norm = ShiftBatchNorm1d(width) if norm else nn.Identity()
        self.inverse = WHT(block=block, dims=dims, order=order, norm="shift", inverse=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output, of the shape of x.

        Parameters
        ----------
        x : float tensor, shape [N, channels, H, W], or [N, ..., channels] for `layout` features

        Returns
        -------
        float tensor, of the shape of x

        Raises
        ------
        ShapeError
            If x has other channels, or another plane with `over` plane.
        """
        axis = -3 if self.layout == "image" else -1
        if (
            x.ndim < 1 - axis
            or x.shape[axis] != self.channels
            or (self.over == "plane" and tuple(x.shape[-2:]) != self.lengths)
        ):
            raise ShapeError(
                f"a WHTLayer of {self.channels} channels over {self.over} {self.lengths} does not suit x {tuple(x.shape)}"
            )
        x = self.entry(x)
        y = self._over_plane(x) if self.over == "plane" else self._over_channels(x)
        return x + y if self.residual else y

    def _over_channels(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = x.movedim(-3, -1) if self.layout == "image" else x
        y = self.transform(_pad_to(y, self.padded))
        y = self.inverse(self.norm(self.product(self.scaling(self.threshold(y)))))
        if self.padded != self.lengths:
            y = y[..., : self.channels]
        return y.movedim(-1, -3) if self.layout == "image" else y

    def _over_plane(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.transform(_pad_to(x, self.padded))
        y = y.reshape(-1, self.channels, self.threshold.size).transpose(1, 2)
        y = self.norm(self.product(self.scaling(self.threshold(y))))
        y = self.inverse(y.transpose(1, 2).reshape(-1, self.channels, *self.padded))
        return y[..., : self.lengths[0], : self.lengths[1]] if self.padded != self.lengths else y

    def extra_repr(self) -> str:
        """Return the options for `print(model)`."""
        return (
            f"{self.channels}, over={self.over}, lengths={self.lengths}, layout={self.layout}, residual={self.residual}"
        )
