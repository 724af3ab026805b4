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
    """Return a linear layer of a kind of `KINDS`; `mf_options` (form, sign_zero, grid) are those of an MF layer."""
    layer: nn.Module = _LINEAR[kind](inputs, outputs, bias=bias, **(mf_options if kind == "mf" else {}))
    return layer


def make_conv2d(kind: str, inputs: int, outputs: int, size: int, **options: Any) -> nn.Module:
    """Return a convolution of a kind of `KINDS`; options as in `nn.Conv2d`, and for an MF layer `mf_options`."""
    mf_options = options.pop("mf_options", {})
    layer: nn.Module = _CONV2D[kind](inputs, outputs, size, **options, **(mf_options if kind == "mf" else {}))
    return layer
