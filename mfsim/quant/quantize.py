"""Replace the layers of a folded float network by quantized ones, and calibrate their scales.

A quantized layer stands at the path of the float one. Weights, WHT and soft thresholds get
quantizers; everything that is exact on codes (ReLU, max pooling, layout, padding, additions) stays
as it is, and anything else is refused by name, so that nothing is left out in silence. A `WHTLayer`
has one quantizer at its entry, which transform and residual share, one in front of its product, and
one in front of the inverse transform.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from mfsim.errors import RecipeError, UnsupportedOpError
from mfsim.nn import WHT, AvgPool2d, GlobalAvgPool2d, Shift, ShiftBatchNorm1d, SoftThreshold, WHTLayer
from mfsim.ops.wht import norm_exponent
from mfsim.quant.entrance import needs_entrance
from mfsim.quant.fold import BATCH_NORMS, check_finite, replace_module
from mfsim.quant.layers import PRODUCTS, QuantProduct, Words
from mfsim.quant.observe import Observed, as_inputs, observe
from mfsim.quant.quantizers import ActivationQuant
from mfsim.quant.recipe import AUTO, MOST_BITS, PROVED, LayerRecipe, Recipe
from mfsim.quant.scales import Partner, choose_exponent, weight_exponents
from mfsim.quant.transforms import QuantizedNetwork, QuantSoftThreshold, QuantWHT

EXACT = (
    nn.Identity,
    nn.ReLU,
    nn.ReLU6,
    nn.Hardtanh,
    nn.MaxPool2d,
    nn.Flatten,
    nn.Unflatten,
    nn.ZeroPad2d,
    nn.PixelShuffle,
    nn.PixelUnshuffle,
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    AvgPool2d,
    GlobalAvgPool2d,
    Shift,
)
"""Layers that are exact on codes and stay as they are."""
HEADROOM = 1
"""Octaves that an output's word holds beyond what calibration saw, so that no unseen logit saturates."""


@dataclass(frozen=True)
class Site:
    """A layer that is replaced: its kind is the class name of the quantized layer, `options` its other arguments."""

    path: str
    kind: str
    options: Mapping[str, object]

    def build(self, layer: nn.Module) -> nn.Module:
        """Return the quantized layer for the float `layer`."""
        options = dict(self.options)
        products = {quantized.__name__: quantized for quantized in PRODUCTS.values()}
        if self.kind in products:
            return products[self.kind](layer, Words(**options))
        if self.kind == "ActivationQuant":
            return ActivationQuant(**options)
        return {"QuantWHT": QuantWHT, "QuantSoftThreshold": QuantSoftThreshold}[self.kind](layer, **options)


def leaves(model: nn.Module) -> Iterator[tuple[str, nn.Module, nn.Module | None]]:
    """Yield (path, layer, enclosing WHTLayer or None) for every module without children."""
    for path, module in model.named_modules():
        if not any(True for _ in module.children()):
            parent = model.get_submodule(path.rpartition(".")[0]) if path else None
            yield path, module, parent if isinstance(parent, WHTLayer) else None


def quantized_kind(path: str, layer: nn.Module, around: WHTLayer | None) -> str:
    """Return the class name of what replaces `layer`, or "" where it stays; refuse what cannot be quantized."""
    name = path.rpartition(".")[2]
    if around is not None and name == "entry":
        return "ActivationQuant"
    if around is not None and name == "transform":
        return ""
    if type(layer) in PRODUCTS:
        return PRODUCTS[type(layer)].__name__
    if isinstance(layer, WHT):
        return "QuantWHT"
    if isinstance(layer, SoftThreshold):
        return "QuantSoftThreshold"
    if isinstance(layer, EXACT):
        return ""
    kind = type(layer).__name__
    if isinstance(layer, (*BATCH_NORMS, ShiftBatchNorm1d)):
        raise UnsupportedOpError(f"layer `{path}` ({kind}) must be folded before quantization; call fold first")
    known = ", ".join(k.__name__ for k in (*PRODUCTS, WHT, SoftThreshold, *EXACT))
    raise UnsupportedOpError(f"layer `{path}` ({kind}) cannot be quantized; the layers that can are {known}")


def quantize(
    model: nn.Module, recipe: Recipe, calibration: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...]
) -> QuantizedNetwork:
    """Return a quantized copy of a folded float network, calibrated on images.

    Parameters
    ----------
    model : module
        Folded (see `fold`); left as it is.
    recipe : Recipe
    calibration : array or tensor, float32 [N, ...], or a tuple of them for several inputs
        Typical inputs; they decide every activation's scale, and whether it is unsigned.

    Returns
    -------
    QuantizedNetwork, in eval mode

    Raises
    ------
    RecipeError
        If a pattern of the recipe matches no layer, or a bias or threshold does not fit its word.
    UnsupportedOpError
        If a layer cannot be quantized; the message names it.
    DataError, ModelError
        If the calibration images, the weights or an activation hold NaN or infinite values.
    """
    check_finite(model)
    model = copy.deepcopy(model).eval()
    kinds = {path: (quantized_kind(path, layer, around), around) for path, layer, around in leaves(model)}
    kinds = {path: found for path, found in kinds.items() if found[0]}
    if not kinds:
        raise UnsupportedOpError("the network has no layer that could be quantized")
    recipe.check(kinds)
    inputs = as_inputs(calibration)
    seen, outputs, entrances = observe(model, inputs, kinds)
    sites = [
        Site(path, kind, _options(path, kind, around, recipe.layer(path), seen[path]))
        for path, (kind, around) in kinds.items()
    ]
    network = assemble(model, sites, len(outputs), recipe.output)
    bits = recipe.input
    if bits == AUTO and needs_entrance(network.model, tuple(x[:2] for x in inputs)):
        bits = recipe.defaults.activation
    if bits != AUTO:
        network.input_quant.extend(ActivationQuant(bits, seen.low < 0) for seen in entrances)
    _calibrate(network, recipe, seen, outputs, entrances)
    check_constants(network)
    return network.eval()


def assemble(model: nn.Module, sites: list[Site], outputs: int, output_bits: int) -> QuantizedNetwork:
    """Return `model` with its layers at `sites` replaced, and quantizers behind it; scales are still to be filled in."""
    for site in sites:
        model = replace_module(model, site.path, site.build(model.get_submodule(site.path)))
    return QuantizedNetwork(model, tuple(sites), outputs, output_bits)


def _options(path: str, kind: str, around: WHTLayer | None, words: LayerRecipe, seen: Observed) -> dict[str, object]:
    signed = seen.low < 0
    if kind == "ActivationQuant" or kind == "QuantWHT":
        return {"bits": words.activation, "signed": signed}
    if kind == "QuantSoftThreshold":
        proved = words.threshold == PROVED
        bits = min(words.activation + (_digits(around) if around is not None else 0), MOST_BITS)
        own = 0 if around is not None else words.activation
        return {"threshold_bits": bits if proved else words.threshold, "proved": proved, "bits": own, "signed": signed}
    return {
        "activation": words.activation,
        "signed": signed,
        "weight": words.weight,
        "per_channel": words.per_channel,
        "bias": words.bias,
        "accumulator": 0 if words.accumulator == PROVED else words.accumulator,
        "overflow": words.overflow,
    }


def _set(
    quantizer: ActivationQuant, seen: Observed, method: str, headroom: int = 0, partner: Partner | None = None
) -> None:
    lo, hi = (
        (-(1 << (quantizer.bits - 1)), (1 << (quantizer.bits - 1)) - 1)
        if quantizer.signed
        else (0, (1 << quantizer.bits) - 1)
    )
    exponent = choose_exponent(seen.values, lo, hi, method, seen.largest, partner)
    exponent = -(quantizer.bits - 1) if exponent is None else exponent + headroom
    quantizer.scale.fill_(2.0**exponent)


@torch.no_grad()
def _calibrate(
    network: QuantizedNetwork,
    recipe: Recipe,
    seen: Mapping[str, Observed],
    outputs: list[Observed],
    entrances: list[Observed],
) -> None:
    for path, found in seen.items():
        layer, words = network.model.get_submodule(path), recipe.layer(path)
        if isinstance(layer, ActivationQuant):
            _set(layer, found, words.calibration)
        elif isinstance(layer, QuantProduct):
            _calibrate_product(layer, words, found)
        elif layer.input_quant is not None:
            _set(layer.input_quant, found, words.calibration)
    for path, layer in network.model.named_modules():
        if isinstance(layer, QuantSoftThreshold):
            layer.threshold_quant.scale.copy_(_scale_into(network.model, path, layer))
    for quantizer, found in zip(network.output_quant, outputs, strict=True):
        _set(quantizer, found, "max", HEADROOM)
    for quantizer, found in zip(network.input_quant, entrances, strict=False):
        _set(quantizer, found, recipe.defaults.calibration)


def _calibrate_product(layer: QuantProduct, words: LayerRecipe, found: Observed) -> None:
    weight = layer.weight.detach().numpy()
    if layer.multiplies:
        x_partner = w_partner = None
    else:
        zero = layer.geometry["sign_zero"]
        x_partner = Partner(float(np.mean(weight.astype(np.float64) ** 2)), zero)
        w_partner = Partner(float(np.mean(found.values**2)), zero)
    _set(layer.input_quant, found, words.calibration, partner=x_partner)
    exponents = weight_exponents(weight, words.weight, words.per_channel, words.calibration, w_partner)
    layer.weight_scale.copy_(torch.exp2(torch.from_numpy(exponents)).reshape(layer.weight_scale.shape))


def _scale_into(model: nn.Module, path: str, layer: QuantSoftThreshold) -> torch.Tensor:
    """Return the scale of the input of a soft threshold: its own quantizer's, or that behind the transform in front."""
    if layer.input_quant is not None:
        return layer.input_quant.scale
    around = model.get_submodule(path.rpartition(".")[0])
    transform = around.transform
    return around.entry.scale * 2.0 ** norm_exponent(_digits(around), transform.norm, int(transform.inverse))


def _digits(around: WHTLayer) -> int:
    """Return log2 of the product of the transformed lengths: the bits that the transform adds."""
    return sum((around.transform.block or n).bit_length() - 1 for n in around.padded)


@torch.no_grad()
def check_constants(network: QuantizedNetwork) -> None:
    """Raise `RecipeError` for a bias or threshold that its word cannot hold.

    A threshold in its proved word is at least as large as anything it meets where it saturates, so
    that nothing changes.
    """
    for path, layer in network.model.named_modules():
        if isinstance(layer, QuantProduct) and layer.bias is not None:
            _check_word(f"the bias of layer `{path}`", layer.bias, layer.accumulator_scale(), layer.words.bias, True)
        elif isinstance(layer, QuantSoftThreshold) and not layer.proved:
            quantizer = layer.threshold_quant
            _check_word(f"a threshold of layer `{path}`", layer.weight, quantizer.scale, quantizer.bits, False)


def _check_word(what: str, values: torch.Tensor, scale: torch.Tensor, bits: int, signed: bool) -> None:
    largest = int(torch.round((values.double() / scale).abs().max()))
    needed = largest.bit_length() + int(signed)
    if needed > bits:
        raise RecipeError(f"{what} needs {needed} bits on its grid, and its word has {bits}")
