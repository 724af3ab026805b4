"""`quantize`: from a folded float network, a recipe and calibration images to a quantized network."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim.errors import RecipeError, UnsupportedOpError
from mfsim.nn import WHTLayer
from mfsim.quant.calibrate import calibrate, check_constants, set_result_grids, transform_bits
from mfsim.quant.entrance import needs_entrance
from mfsim.quant.fold import check_finite
from mfsim.quant.nonlinear import NONLINEAR
from mfsim.quant.observe import Observed, as_inputs, observe
from mfsim.quant.pairs import PAIRS
from mfsim.quant.quantizers import ActivationQuant
from mfsim.quant.recipe import AUTO, MOST_BITS, PROVED, LayerRecipe, Recipe
from mfsim.quant.sites import Site, assemble, leaves, places, quantized_kind
from mfsim.quant.transforms import QuantizedNetwork


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
    kinds = {
        path: (quantized_kind(path, layer, around, path in recipe.layers), around)
        for path, layer, around in leaves(model)
    }
    kinds = {path: found for path, found in kinds.items() if found[0]}
    if not kinds:
        raise UnsupportedOpError("the network has no layer that could be quantized")
    recipe.check(kinds)
    inputs = as_inputs(calibration)
    where = {path: places(path, kind) for path, (kind, _) in kinds.items()}
    seen, outputs, entrances = observe(
        model, inputs, {name: p for found in where.values() for name, p in found.items()}
    )
    sites = [
        Site(path, kind, _options(path, model.get_submodule(path), kind, around, recipe.layer(path), found))
        for (path, (kind, around)), found in ((item, [seen[p] for p in where[item[0]]]) for item in kinds.items())
    ]
    network = assemble(model, sites, len(outputs), recipe.output)
    bits = recipe.input if isinstance(recipe.input, int) else 0
    example = tuple(x[:2] for x in inputs)
    if recipe.input == AUTO and needs_entrance(network.model, example):
        bits = recipe.defaults.activation
    if bits:
        network.input_quant.extend(ActivationQuant(bits, seen.low < 0) for seen in entrances)
    calibrate(network, recipe, seen, outputs, entrances)
    set_result_grids(network, recipe, seen, example)
    check_constants(network)
    return network.eval()


def _options(
    path: str, layer: Any, kind: str, around: WHTLayer | None, words: LayerRecipe, places: list[Observed]
) -> dict[str, Any]:
    """Return the arguments of a site; `places` are what its ports have met."""
    seen = places[0]
    signed = seen.low < 0
    if kind == "QuantHardtanh":
        signed = signed and layer.min_val < 0
    if kind in ("ActivationQuant", "QuantHardtanh", "QuantWHT", "Requantized"):
        return {"bits": words.activation, "signed": signed}
    if kind in _names(NONLINEAR):
        return {"bits": words.activation, "signed": signed}
    if kind == "QuantTokenEmbedding":
        return {"bits": words.residual, "signed": signed, "bias_bits": words.bias}
    if kind == "QuantAdd":
        return {"bits": words.residual, "signed": [min(place.low for place in places) < 0] * 2}
    if kind in _names(PAIRS):
        return {"bits": words.activation, "signed": [place.low < 0 for place in places]}
    if kind == "QuantSoftThreshold":
        proved = words.threshold == PROVED
        bits = min(words.activation + (transform_bits(around) if around is not None else 0), MOST_BITS)
        own = 0 if around is not None else words.activation
        return {"threshold_bits": bits if proved else words.threshold, "proved": proved, "bits": own, "signed": signed}
    if words.per_channel and getattr(layer, "grid", "split") != "split":
        raise RecipeError(
            f"`per_channel` of layer `{path}` must be false, because its MF product has the grid {layer.grid}"
        )
    return {
        "activation": words.activation,
        "signed": signed,
        "weight": words.weight,
        "per_channel": words.per_channel,
        "bias": words.bias,
        "accumulator": 0 if words.accumulator == PROVED else words.accumulator,
        "overflow": words.overflow,
    }


def _names(table: Mapping[type[nn.Module], type[nn.Module]]) -> set[str]:
    return {kind.__name__ for kind in table.values()}
