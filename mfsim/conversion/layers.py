"""What a layer of torch becomes: the new layer, and what it takes over from the old one.

    mf     Linear -> MFLinear, Conv2d -> MFConv2d; weights and bias are the old ones. With `norm` a
           ShiftBatchNorm stands behind, whose offset the bias becomes: sums of an MF product are far
           larger than those of a dense one, and where no batch norm follows, training needs one
    wht    a Linear with as many outputs as inputs, or a Conv2d that keeps the image's shape -> WHTLayer;
           nothing is taken over, because its product lies in the transform domain
    shift  BatchNorm -> ShiftBatchNorm; statistics and offset are the old ones, each gain the nearest
           power of two

Parameters are taken over as objects, so that weights which two layers share stay shared. Only layers of
torch's own classes are converted: a subclass may do anything in its forward method.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from mfsim.errors import UnsupportedOpError
from mfsim.nn import MFConv2d, MFLinear, ShiftBatchNorm1d, ShiftBatchNorm2d, WHTLayer
from mfsim.nn.mf import INITIAL

PRODUCTS = (nn.Linear, nn.Bilinear, nn.modules.conv._ConvNd)
NORMS = (nn.modules.batchnorm._BatchNorm,)
ABOUT: dict[str, tuple[type[nn.Module], ...]] = {
    "mf": PRODUCTS,
    "wht": PRODUCTS,
    "shift": NORMS,
    "keep": (nn.Module,),
}
"""The layers that a rule is about, by its `to`."""
NAMES = {"mf": "linear layers and convolutions", "wht": "linear layers and convolutions", "shift": "batch norms"}


@dataclass(frozen=True)
class Made:
    """A new layer: which of the old tensors it has, and why it lacks others."""

    layer: nn.Module
    kept: tuple[str, ...]
    note: str = ""


def _mf_linear(layer: Any, options: Mapping[str, Any]) -> Made:
    new = MFLinear(layer.in_features, layer.out_features, layer.bias is not None, **_without_norm(options))
    return _with_weights(new, layer, ShiftBatchNorm1d(layer.out_features) if options.get("norm") else None)


def _mf_conv2d(layer: Any, options: Mapping[str, Any]) -> Made:
    new = MFConv2d(
        layer.in_channels,
        layer.out_channels,
        layer.kernel_size,
        layer.stride,
        _padding(layer),
        layer.dilation,
        layer.groups,
        layer.bias is not None,
        **_without_norm(options),
    )
    return _with_weights(new, layer, ShiftBatchNorm2d(layer.out_channels) if options.get("norm") else None)


def _without_norm(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "norm"}


def _with_weights(new: Any, layer: Any, norm: ShiftBatchNorm1d | None) -> Made:
    new.weight = layer.weight
    kept = ("weight",) if layer.bias is None else ("weight", "bias")
    if norm is None:
        new.bias = layer.bias
        return Made(new, kept)
    new.bias = None
    if layer.bias is not None:
        norm.offset = layer.bias
        kept = ("weight", "bias as offset")
    return Made(nn.Sequential(OrderedDict(product=new, norm=norm)), kept, "norm fresh: gains 1")


def _padding(layer: nn.Conv2d) -> tuple[int, int, int, int]:
    """Return the zeros around x as (top, left, bottom, right)."""
    if layer.padding_mode != "zeros":
        raise UnsupportedOpError(f"its `padding_mode` must be zeros, not {layer.padding_mode}")
    left, right, top, bottom = layer._reversed_padding_repeated_twice  # of the words "same" and "valid" too
    return top, left, bottom, right


def _wht_linear(layer: Any, options: Mapping[str, Any]) -> Made:
    if layer.in_features != layer.out_features:
        raise UnsupportedOpError(
            f"it must have as many outputs as inputs, not {layer.out_features} for {layer.in_features}"
        )
    return _fresh(WHTLayer(layer.in_features, layout="features", **_wht_options(options)), layer)


def _wht_conv2d(layer: Any, options: Mapping[str, Any]) -> Made:
    if layer.in_channels != layer.out_channels or layer.groups != 1:
        raise UnsupportedOpError(
            f"it must have as many outputs as inputs in one group, not {layer.out_channels} for {layer.in_channels} "
            f"in {layer.groups}"
        )
    top, left, bottom, right = _padding(layer)
    span = tuple(d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True))
    if layer.stride != (1, 1) or (top + bottom, left + right) != span:
        raise UnsupportedOpError("its `stride` and `padding` must keep the shape of the image")
    if options.get("over", "channels") == "channels" and layer.kernel_size != (1, 1):
        raise UnsupportedOpError(
            f"over channels its kernel must be 1 x 1, not {layer.kernel_size[0]} x {layer.kernel_size[1]}; "
            "a plane of fixed size needs the options `over` plane and `plane`"
        )
    return _fresh(WHTLayer(layer.in_channels, **_wht_options(options)), layer)


def _wht_options(options: Mapping[str, Any]) -> dict[str, Any]:
    plane = options.get("plane")
    return {**options, **({} if plane is None else {"plane": tuple(plane)})}


def _fresh(new: WHTLayer, layer: Any) -> Made:
    threshold: Any = new.threshold
    start = f"fresh: weights normal with deviation {INITIAL}, thresholds {float(threshold.weight[0].detach()):g}"
    if layer.bias is not None:
        start += ", bias 0" if new.product.bias is not None else ", offset 0 in place of the bias"
    return Made(new, (), start)


@torch.no_grad()
def _shift_norm(kind: type[ShiftBatchNorm1d], layer: Any) -> Made:
    if layer.running_mean is None:
        raise UnsupportedOpError("it must keep running statistics")
    if layer.momentum is None:
        raise UnsupportedOpError("its `momentum` must be a number; None averages over all batches")
    new = kind(layer.num_features, layer.eps, layer.momentum).to(layer.running_mean)
    new.running_mean.copy_(layer.running_mean)
    new.running_var.copy_(layer.running_var)
    kept: tuple[str, ...] = ("mean", "variance")
    note = ""
    if layer.affine:
        kept += ("offset", "gain to the nearest 2^k")
        new.offset.copy_(layer.bias)
        least = torch.finfo(layer.weight.dtype).tiny
        new.log_gain.copy_(torch.log2(layer.weight.abs().clamp_min(least)).clamp(-30, 30))
        negative, zero = int((layer.weight < 0).sum()), int((layer.weight == 0).sum())
        notes = [
            f"{count} {what}"
            for count, what in ((negative, "negative gains made positive"), (zero, "gains of 0"))
            if count
        ]
        note = ", ".join(notes)
    new.store_gain()
    return Made(new, kept, note)


CONVERSIONS: dict[tuple[str, type[nn.Module]], Callable[[Any, Mapping[str, Any]], Made]] = {
    ("mf", nn.Linear): _mf_linear,
    ("mf", nn.Conv2d): _mf_conv2d,
    ("wht", nn.Linear): _wht_linear,
    ("wht", nn.Conv2d): _wht_conv2d,
    ("shift", nn.BatchNorm1d): lambda layer, options: _shift_norm(ShiftBatchNorm1d, layer),
    ("shift", nn.BatchNorm2d): lambda layer, options: _shift_norm(ShiftBatchNorm2d, layer),
}
"""How a layer of a class is made into what `to` says."""


def make(layer: nn.Module, to: str, options: Mapping[str, Any]) -> Made:
    """Return what `layer` becomes, on its device, in its mode and type.

    Parameters
    ----------
    layer : torch.nn.Module
        One of torch's own classes; its parameters are shared with what it becomes.
    to : {"mf", "wht", "shift"}
    options : mapping
        Of the new layer, as `mfsim.conversion.rules.OPTIONS` lists them.

    Returns
    -------
    Made

    Raises
    ------
    UnsupportedOpError
        If it cannot become that; the sentence goes on from "the layer cannot become `to`: ".
    MfsimError
        If an option does not suit the layer.
    """
    build = CONVERSIONS.get((to, type(layer)))
    if build is None:
        names = " and ".join(kind.__name__ for target, kind in CONVERSIONS if target == to)
        raise UnsupportedOpError(f"only {names} themselves can")
    if layer._forward_hooks or layer._forward_pre_hooks or layer._backward_hooks:
        raise UnsupportedOpError("it has hooks, such as those of weight_norm; remove them first")
    made = build(layer, options)
    weight = next((t for t in (*layer.parameters(), *layer.buffers()) if t.is_floating_point()), None)
    if weight is not None:
        made.layer.to(weight.device, weight.dtype)
    made.layer.train(layer.training)
    return made


def described(layer: Any) -> str:
    """Return a layer in a few words, such as `Conv2d 3 to 16, 3 x 3, stride 2`.

    Parameters
    ----------
    layer : torch.nn.Module
        An old or a new layer; an `nn.Sequential` is a product with a norm behind it.

    Returns
    -------
    str
    """
    parts = []
    if isinstance(layer, nn.Sequential):
        return f"{described(layer.product)}, norm"
    if isinstance(layer, (nn.Conv2d, MFConv2d)):
        parts = [f"{layer.in_channels} to {layer.out_channels}", " x ".join(str(k) for k in layer.kernel_size)]
        parts += [f"stride {layer.stride[0]}"] if layer.stride != (1, 1) else []
        parts += [f"groups {layer.groups}"] if layer.groups != 1 else []
    elif isinstance(layer, (nn.Linear, MFLinear)):
        parts = [f"{layer.in_features} to {layer.out_features}"]
    elif isinstance(layer, WHTLayer):
        parts = [f"{layer.channels} over {layer.over}", *(["residual"] if layer.residual else [])]
    elif isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
        parts = [str(layer.num_features)]
    elif isinstance(layer, ShiftBatchNorm1d):
        parts = [str(layer.features)]
    if isinstance(layer, (MFConv2d, MFLinear)):
        parts.append(layer.form)
    return f"{type(layer).__name__} {', '.join(parts)}".strip()
