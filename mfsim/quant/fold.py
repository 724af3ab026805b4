"""Fold what cannot be quantized as it is, on the float model, before quantization.

    BatchNorm behind Linear or Conv2d       into weights and bias
    ShiftBatchNorm behind a product         offset / gain into the bias, gain 2**k into a `Shift` (exact)
    ShiftBatchNorm1d behind anything else   an `Affine` with power-of-two gains (exact)
    Scaling by powers of two                a `Shift` (exact)
    nn.AvgPool2d, nn.AdaptiveAvgPool2d(1)   mfsim's own, whose division relabels the scale

A gain in front of which an MF product stands does not fold into its weights: MF products are
homogeneous only in both operands together. A batch norm's product is the layer whose output tensor
it receives, seen on an example; the folded model is then compared with the given one in float64,
where no rounding near a sign can hide or feign a difference.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from mfsim.errors import MfsimError, ModelError, UnsupportedOpError
from mfsim.keywords import check_keywords
from mfsim.nn import (
    AdderConv2d,
    AdderLinear,
    Affine,
    AvgPool2d,
    GlobalAvgPool2d,
    MFConv2d,
    MFLinear,
    MinConv2d,
    MinLinear,
    Scaling,
    Shift,
    ShiftBatchNorm1d,
    ShiftConv2d,
    ShiftLinear,
)
from mfsim.quant.observer import as_outputs

TOLERANCE = 1e-9
"""Largest difference between folded and given model in float64, relative to the largest output."""
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
DENSE = (nn.Linear, nn.Conv2d)
MF = (MFLinear, MFConv2d, AdderLinear, AdderConv2d, MinLinear, MinConv2d, ShiftLinear, ShiftConv2d)
"""Multiplication-free products, into whose weights no gain folds."""
PASSING = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout)
"""Layers that hand on their input in eval mode."""


def replace_module(model: nn.Module, path: str, module: nn.Module) -> nn.Module:
    """Put `module` at `path` of `model`, and wherever else its predecessor stands; return the model.

    For an empty path `module` itself is the model.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place.
    path : str
        Of a module that is there, or "".
    module : torch.nn.Module

    Returns
    -------
    torch.nn.Module
        `model`; `module` for an empty path.
    """
    if not path:
        return module
    predecessor = model.get_submodule(path)
    places = [place for place, found in model.named_modules(remove_duplicate=False) if found is predecessor]
    for place in places:
        parent, _, name = place.rpartition(".")
        setattr(model.get_submodule(parent), name, module)
    return model


@check_keywords
def fold(model: nn.Module, example: torch.Tensor | tuple[torch.Tensor, ...]) -> nn.Module:
    """Return a copy of `model` without batch norms, equal to it in eval mode.

    Parameters
    ----------
    model : module
        Left as it is.
    example : tensor or tuple of tensors, int64 for ids
        Inputs that make every module run.

    Raises
    ------
    UnsupportedOpError
        If a batch norm or a pooling layer cannot be folded; the message names it.
    ModelError
        If a parameter is NaN or infinite, the model cannot run, or the folded model differs.
    """
    given = example if isinstance(example, tuple) else (example,)
    inputs = tuple(x if x.dtype == torch.int64 else x.double() for x in given)
    check_finite(model)
    original = copy.deepcopy(model).eval().double()
    folded = copy.deepcopy(original)
    sources = _sources(folded, inputs)
    for path, module in list(folded.named_modules()):
        if isinstance(module, BATCH_NORMS):
            folded = _fold_batch_norm(folded, path, module, sources)
        elif isinstance(module, ShiftBatchNorm1d):
            folded = _fold_shift_batch_norm(folded, path, module, sources)
        elif isinstance(module, Scaling) and module.kind == "shift":
            folded = replace_module(folded, path, Shift(module.exponents(), module.axis).double())
        elif isinstance(module, (nn.AvgPool2d, nn.AdaptiveAvgPool2d)):
            folded = replace_module(folded, path, as_pool(path, module))
    generator = torch.Generator().manual_seed(0)
    noise = tuple(_noise(x, generator) for x in inputs)
    for trial in (inputs, noise):  # an example may well be zeros, which would hide a lot
        for before, now in zip(_run(original, trial), _run(folded, trial), strict=True):
            _compare(before, now)
    return folded.float()


def _noise(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return random values of the shape of x; of integers, which number rows, a permutation."""
    if x.is_floating_point():
        return torch.randn(x.shape, generator=generator, dtype=x.dtype)
    return x.reshape(-1)[torch.randperm(x.numel(), generator=generator)].reshape(x.shape)


def _compare(given: torch.Tensor, now: torch.Tensor) -> None:
    largest = float(given.abs().max()) if given.numel() else 0.0
    difference = float((given - now).abs().max()) if given.numel() else 0.0
    if not difference <= TOLERANCE * max(largest, 1e-30):
        raise ModelError(
            f"the folded model differs from the given one by {difference:.3g} at outputs up to {largest:.3g}; "
            "a layer in front of a batch norm is probably used twice, or its output elsewhere too"
        )


def check_finite(model: nn.Module) -> None:
    """Check that all parameters and buffers are finite.

    Parameters
    ----------
    model : torch.nn.Module

    Raises
    ------
    ModelError
        If one is NaN or infinite; the message names it.
    """
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelError(f"`{name}` of the model holds NaN or infinite values")


@torch.no_grad()
def _run(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    try:
        return as_outputs(model(*inputs))
    except MfsimError:
        raise
    except Exception as error:
        shapes = ", ".join(str(tuple(x.shape)) for x in inputs)
        raise ModelError(f"the model cannot run in float64 on an input of shape {shapes}: {error}") from error


def _sources(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> dict[str, str]:
    """Return for each layer that received another layer's output tensor itself the path of that layer."""
    made: dict[int, str] = {}
    kept: list[torch.Tensor] = []
    sources: dict[str, str] = {}
    hooks = []
    for path, module in model.named_modules():
        if any(True for _ in module.children()):
            continue

        def watch(module: nn.Module, arguments: tuple[Any, ...], result: Any, path: str = path) -> None:
            if arguments and isinstance(arguments[0], torch.Tensor):
                sources[path] = made.get(id(arguments[0]), "")
            if isinstance(result, torch.Tensor) and not isinstance(module, PASSING):
                kept.append(result)  # an id is unique only while its tensor lives
                made[id(result)] = path

        hooks.append(module.register_forward_hook(watch))
    try:
        _run(model, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return sources


def _product(model: nn.Module, path: str, norm: nn.Module, sources: dict[str, str], kinds: tuple[type, ...]) -> Any:
    """Return the layer in front of the batch norm at `path`."""
    kind = type(norm).__name__
    if path not in sources:
        raise UnsupportedOpError(f"{kind} `{path}` did not run on the example, so it cannot be folded")
    source = sources[path]
    layer = model.get_submodule(source) if source else None
    if isinstance(layer, kinds):
        return layer
    if isinstance(layer, MF):
        raise UnsupportedOpError(
            f"{kind} `{path}` follows the MF product `{source}`, into which no gain folds; use ShiftBatchNorm"
        )
    behind = f"`{source}` ({type(layer).__name__})" if layer is not None else "no layer of its own"
    names = ", ".join(k.__name__ for k in kinds)
    raise UnsupportedOpError(f"{kind} `{path}` follows {behind}, so it cannot be folded; it must follow {names}")


def _add_to_bias(layer: Any, values: torch.Tensor) -> None:
    bias = values if layer.bias is None else layer.bias.detach() + values
    layer.bias = nn.Parameter(bias)


@torch.no_grad()
def _fold_batch_norm(model: nn.Module, path: str, norm: Any, sources: dict[str, str]) -> nn.Module:
    if norm.running_mean is None:
        raise UnsupportedOpError(f"{type(norm).__name__} `{path}` keeps no running statistics, so it cannot be folded")
    layer = _product(model, path, norm, sources, DENSE)
    gain = torch.rsqrt(norm.running_var + norm.eps)
    offset = -norm.running_mean * gain
    if norm.affine:
        offset = offset * norm.weight + norm.bias
        gain = gain * norm.weight
    layer.weight.mul_(gain.reshape(-1, *[1] * (layer.weight.ndim - 1)))
    if layer.bias is not None:
        layer.bias.mul_(gain)
    _add_to_bias(layer, offset)
    return replace_module(model, path, nn.Identity())


@torch.no_grad()
def _fold_shift_batch_norm(model: nn.Module, path: str, norm: ShiftBatchNorm1d, sources: dict[str, str]) -> nn.Module:
    gain, offset = norm.gain_and_offset()
    source = sources.get(path)
    before = model.get_submodule(source) if source else None
    if norm.axis == -1 and source is not None and not isinstance(before, (*MF, *DENSE)):
        return replace_module(model, path, _affine(norm.exponents(), offset))
    layer = _product(model, path, norm, sources, (*MF, *DENSE))
    _add_to_bias(layer, offset / gain)
    return replace_module(model, path, Shift(norm.exponents(), norm.axis).double())


def _affine(exponents: tuple[int, ...], offset: torch.Tensor) -> nn.Module:
    """Return 2**k x + offset as a layer of its own."""
    layer = Affine(len(exponents), "power-of-two").double()
    assert layer.log_alpha is not None
    layer.log_alpha.copy_(torch.tensor(exponents, dtype=torch.float64))
    layer.beta.copy_(offset)
    return layer


def as_pool(path: str, layer: Any) -> nn.Module:
    """Return mfsim's pooling layer for torch's at `path` (or one of mfsim's own, as it is).

    Parameters
    ----------
    path : str
        Of the layer, for messages.
    layer : torch.nn.Module
        An average pool of torch or of mfsim.

    Returns
    -------
    AvgPool2d or GlobalAvgPool2d

    Raises
    ------
    UnsupportedOpError
        If it has an option that no layer of mfsim has.
    FormatError
        If the area of its window is no power of two.
    """
    if isinstance(layer, (AvgPool2d, GlobalAvgPool2d)):
        return layer
    if isinstance(layer, nn.AdaptiveAvgPool2d):
        if layer.output_size not in (1, (1, 1)):
            raise UnsupportedOpError(f"AdaptiveAvgPool2d `{path}` must have the output size 1, not {layer.output_size}")
        return GlobalAvgPool2d()
    padded = layer.padding not in (0, (0, 0))
    if layer.ceil_mode or layer.divisor_override or (padded and not layer.count_include_pad):
        raise UnsupportedOpError(
            f"AvgPool2d `{path}` must have ceil_mode False, no divisor_override, and count_include_pad True where it pads"
        )
    try:
        return AvgPool2d(layer.kernel_size, layer.stride, layer.padding)
    except MfsimError as error:
        raise type(error)(f"AvgPool2d `{path}`: {error}") from error
