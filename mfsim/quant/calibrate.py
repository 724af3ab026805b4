"""Calibration: scales from what the float network was seen to do, and constants that must fit their words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim.errors import RecipeError
from mfsim.nn import WHTLayer
from mfsim.ops.wht import norm_exponent
from mfsim.quant.entrance import readers
from mfsim.quant.layers import QuantProduct
from mfsim.quant.nonlinear import QuantNonlinear
from mfsim.quant.observe import Observed
from mfsim.quant.pairs import QuantMFMatMul, QuantPair
from mfsim.quant.quantizers import ActivationQuant, plain
from mfsim.quant.recipe import LayerRecipe, Recipe
from mfsim.quant.scales import Partner, choose_exponent, weight_exponents
from mfsim.quant.transforms import QuantHardtanh, QuantizedNetwork, QuantSoftThreshold, Requantized

HEADROOM = 1
"""Octaves that an output's word holds beyond what calibration saw, so that no unseen logit saturates."""


def set_scale(
    quantizer: ActivationQuant, seen: Observed, method: str, headroom: int = 0, partner: Partner | None = None
) -> None:
    """Set the scale of `quantizer` for the values in `seen`, `headroom` octaves coarser than chosen."""
    lo, hi = (
        (-(1 << (quantizer.bits - 1)), (1 << (quantizer.bits - 1)) - 1)
        if quantizer.signed
        else (0, (1 << quantizer.bits) - 1)
    )
    exponent = choose_exponent(seen.values, lo, hi, method, seen.largest, partner)
    exponent = -(quantizer.bits - 1) if exponent is None else exponent + headroom
    quantizer.scale.fill_(2.0**exponent)


@torch.no_grad()
def calibrate(
    network: QuantizedNetwork,
    recipe: Recipe,
    seen: Mapping[str, Observed],
    outputs: list[Observed],
    entrances: list[Observed],
) -> None:
    """Fill in every scale of `network` from what its float form has been seen to do.

    `seen` is for each place of a layer that was replaced, by the name of what has a scale there;
    `outputs` and `entrances` are the ends of the network.
    """
    for site in network.sites:
        path = site.path
        layer: Any = network.model.get_submodule(path)
        words, places = recipe.layer(path), [seen[name] for name in site.places()]
        found = places[0]
        if isinstance(layer, QuantProduct):
            _calibrate_product(layer, words, found)
        elif isinstance(layer, QuantPair):
            _calibrate_pair(layer, words, *places)
        elif isinstance(layer, QuantHardtanh):
            set_scale(layer.input_quant, Observed(0.0, min(found.largest, layer.largest), parts=[np.zeros(1)]), "max")
        elif isinstance(layer, ActivationQuant):
            set_scale(layer, found, words.calibration)
        elif isinstance(layer, Requantized):
            set_scale(layer.result_quant, found, words.calibration)
        elif layer.input_quant is not None:
            set_scale(layer.input_quant, found, words.calibration)
    for path, module in network.model.named_modules():
        if isinstance(module, QuantSoftThreshold):
            module.threshold_quant.scale.copy_(_scale_into(network.model, path, module))
    end: Any
    for end, found in zip(network.output_quant, outputs, strict=True):
        set_scale(end, found, "max", HEADROOM)
    for end, found in zip(network.input_quant, entrances, strict=False):
        set_scale(end, found, recipe.defaults.calibration)


@torch.no_grad()
def set_result_grids(
    network: QuantizedNetwork, recipe: Recipe, seen: Mapping[str, Observed], example: tuple[torch.Tensor, ...]
) -> None:
    """Put the result of every nonlinear layer on the grid of the quantizers that read it, the finest where they differ.

    The Quant behind then only saturates. A result that no quantizer reads as it is gets the grid of a
    word of the layer's own for what calibration saw.
    """
    layers = {f"model.{path}".rstrip("."): (path, layer) for path, layer in nonlinear_layers(network.model)}
    found = readers(network, example, layers)
    for name, (path, layer) in layers.items():
        scales = [quantizer.scale for quantizer in found.get(name, [])]
        if not scales:
            place, words = seen[f"{path}.y_scale".lstrip(".")], recipe.layer(path)
            own = ActivationQuant(words.activation, place.low < 0)
            set_scale(own, place, words.calibration)
            scales = [own.scale]
        layer.y_scale.copy_(min(scales))
        layer.derive()


def nonlinear_layers(model: nn.Module) -> list[tuple[str, QuantNonlinear]]:
    """Return path and module of every quantized nonlinear layer of `model`."""
    return [(path, module) for path, module in model.named_modules() if isinstance(module, QuantNonlinear)]


def _calibrate_pair(layer: QuantPair, words: LayerRecipe, a: Observed, b: Observed) -> None:
    """Give each operand its scale; where they share one, the coarser of both."""
    pair = (layer.a_quant, layer.b_quant)
    for quantizer, found, other in zip(pair, (a, b), (b, a), strict=True):
        mf = isinstance(layer, QuantMFMatMul)
        partner = Partner(float(np.mean(other.values**2)), layer.sign_zero) if mf else None
        set_scale(quantizer, found, words.calibration, partner=partner)
    coarser = torch.maximum(*(quantizer.scale for quantizer in pair))
    finest = coarser
    if not layer.one_scale:
        finest = coarser * 2.0 ** -_room(a.shape[-1], pair) if isinstance(layer, QuantMFMatMul) else coarser * 0
    for quantizer in pair:
        quantizer.scale.copy_(torch.maximum(quantizer.scale, finest))


def _room(terms: int, pair: tuple[ActivationQuant, ActivationQuant]) -> int:
    """Return by how many octaves one operand of an MF product of activations may be finer than the other.

    The coarser one is shifted by as much onto the joined grid, where float32 holds sums up to 2**24.
    """
    largest = 1 << max(quantizer.bits - int(quantizer.signed) for quantizer in pair)
    return max(((1 << 24) // terms - largest) // largest, 1).bit_length() - 1


def _calibrate_product(layer: QuantProduct, words: LayerRecipe, found: Observed) -> None:
    weight = layer.weight.detach().numpy()
    if layer.multiplies:
        x_partner = w_partner = None
    else:
        zero = layer.geometry["sign_zero"]
        x_partner = Partner(float(np.mean(weight.astype(np.float64) ** 2)), zero)
        w_partner = Partner(float(np.mean(found.values**2)), zero)
    set_scale(layer.input_quant, found, words.calibration, partner=x_partner)
    exponents = weight_exponents(weight, words.weight, words.per_channel, words.calibration, w_partner)
    if not layer.multiplies:
        exponents = np.maximum(exponents, round(np.log2(float(layer.input_quant.scale))) - _spread(layer, words))
    scales = torch.from_numpy(np.asarray(np.ldexp(np.float32(1), exponents)))
    layer.weight_scale.copy_(scales.reshape(layer.weight_scale.shape))
    if layer.geometry.get("grid") == "shared":
        coarser = torch.maximum(layer.input_quant.scale, layer.weight_scale)
        layer.input_quant.scale.copy_(coarser)
        layer.weight_scale.copy_(coarser)


def _spread(layer: QuantProduct, words: LayerRecipe) -> int:
    """Return by how many octaves the weights of an MF product may be finer than its input.

    The input's part is shifted by as much onto the joined grid, where float32 holds sums up to 2**24;
    half of that is left to the bias. Where the weights are far smaller than the input, some round to 0
    at that limit, and with `sign_zero` 0 their terms lose the input's part too.
    """
    terms = layer.weight[0].numel()
    largest_x = 1 << (words.activation - int(layer.input_quant.signed))
    room = (1 << 23) // terms - (1 << (words.weight - 1))
    return max(room // largest_x, 1).bit_length() - 1


def _scale_into(model: nn.Module, path: str, layer: QuantSoftThreshold) -> torch.Tensor:
    """Return the scale of the input of a soft threshold: its own quantizer's, or that behind the transform in front."""
    if layer.input_quant is not None:
        return layer.input_quant.scale
    around: Any = model.get_submodule(path.rpartition(".")[0])
    transform = around.transform
    gain = 2.0 ** norm_exponent(transform_bits(around), transform.norm, int(transform.inverse))
    scale: torch.Tensor = around.entry.scale * gain
    return scale


def transform_bits(around: WHTLayer) -> int:
    """Return log2 of the product of the transformed lengths: the bits that the transform adds."""
    return sum((around.transform.block or n).bit_length() - 1 for n in around.padded)


@torch.no_grad()
def check_constants(network: QuantizedNetwork) -> None:
    """Raise `RecipeError` for a bias or threshold that its word cannot hold, and for weights that all become 0.

    A threshold in its proved word is at least as large as anything it meets where it saturates, so
    that nothing changes.
    """
    for path, layer in network.model.named_modules():
        if isinstance(layer, QuantProduct) and layer.weight.any() and not plain(layer.weight_quant(layer.weight)).any():
            coarsest = int(torch.log2(layer.weight_scale.max()))
            raise RecipeError(
                f"the weights of layer `{path}` all round to 0 on the scale 2^{coarsest}, the finest that its input leaves "
                "them; scale the input down, or give the input more bits"
            )
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
