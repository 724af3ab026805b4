"""Linear layers and convolutions by the kind of their products: dense, MF, or with power-of-two weights."""

from __future__ import annotations

from typing import Any

from torch import nn

from mfsim.nn.family import ShiftConv2d, ShiftLinear
from mfsim.nn.mf import MFConv2d, MFLinear

KINDS = ("dense", "mf", "power-of-two")
_LINEAR: dict[str, Any] = {"dense": nn.Linear, "mf": MFLinear, "power-of-two": ShiftLinear}
_CONV2D: dict[str, Any] = {"dense": nn.Conv2d, "mf": MFConv2d, "power-of-two": ShiftConv2d}


def make_linear(kind: str, inputs: int, outputs: int, bias: bool, **mf_options: Any) -> nn.Module:
    """Return a linear layer by the kind of its products.

    Parameters
    ----------
    kind : {"dense", "mf", "power-of-two"}
    inputs, outputs : int, at least 1
        Features.
    bias : bool
        Whether the layer has a bias.
    **mf_options
        `form`, `sign_zero`, `grid` of an MF layer; other kinds ignore them.

    Returns
    -------
    torch.nn.Module
        An `nn.Linear`, `MFLinear` or `ShiftLinear`.
    """
    layer: nn.Module = _LINEAR[kind](inputs, outputs, bias=bias, **(mf_options if kind == "mf" else {}))
    return layer


def make_conv2d(kind: str, inputs: int, outputs: int, size: int, **options: Any) -> nn.Module:
    """Return a 2-D convolution by the kind of its products.

    Parameters
    ----------
    kind : {"dense", "mf", "power-of-two"}
    inputs, outputs : int, at least 1
        Channels.
    size : int
        Rows and columns of the kernel.
    **options
        As in `nn.Conv2d`; `mf_options`, a dict of `form`, `sign_zero`, `grid`, is used by an MF layer only.

    Returns
    -------
    torch.nn.Module
        An `nn.Conv2d`, `MFConv2d` or `ShiftConv2d`.
    """
    mf_options = options.pop("mf_options", {})
    layer: nn.Module = _CONV2D[kind](inputs, outputs, size, **options, **(mf_options if kind == "mf" else {}))
    return layer
