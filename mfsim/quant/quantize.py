"""`quantize`: from a folded float network, a recipe and calibration images to a quantized network."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from mfsim.errors import UnsupportedOpError
from mfsim.keywords import check_keywords
from mfsim.ops.pool.quant import pools_of_sums
from mfsim.quant.calibrate import calibrate, statistics, subject_of, with_readers
from mfsim.quant.calibration import Calibration
from mfsim.quant.fold import check_finite
from mfsim.quant.input_quantizer import needs_input_quantizer
from mfsim.quant.layer_config import config_of
from mfsim.quant.module_mapping import Site, assemble, leaves, places, quantized_kind
from mfsim.quant.network import QuantizedNetwork
from mfsim.quant.nonlinear import BY_NAME
from mfsim.quant.observer import as_inputs, observe
from mfsim.quant.quantizers import ActivationQuant
from mfsim.quant.recipe import Recipe


@check_keywords
def quantize(
    model: nn.Module, recipe: Recipe, calibration: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...]
) -> QuantizedNetwork:
    """Return a quantized copy of a folded float network, calibrated on images.

    Parameters
    ----------
    model : module
        Folded (see `fold`); left as it is.
    recipe : Recipe
    calibration : array or tensor, float32 [N, ...], or a tuple of them for several inputs; int64 for ids
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
    inputs = as_inputs(calibration)
    example = tuple(x[:2] for x in inputs)
    for path, kind in pools_of_sums(model, example, {path: kind for path, (kind, _) in kinds.items()}, BY_NAME).items():
        kinds[path] = kind, kinds[path][1]
    kinds = {path: found for path, found in kinds.items() if found[0]}
    if not kinds:
        raise UnsupportedOpError("the network has no layer that could be quantized")
    recipe.check(kinds)
    where = {path: places(path, kind) for path, (kind, _) in kinds.items()}
    seen, outputs, entrances = observe(
        model, inputs, {name: p for found in where.values() for name, p in found.items()}
    )
    subjects = [
        subject_of(path, model.get_submodule(path), kind, around, {name: seen[name] for name in where[path]})
        for path, (kind, around) in kinds.items()
    ]
    sites = [Site(s.path, s.kind, config_of(s).options(s, recipe.layer(s.path))) for s in subjects]
    network = assemble(model, sites, len(outputs), recipe.output)
    kept = Calibration(
        recipe,
        tuple(with_readers(subjects, network, example)),
        tuple(map(statistics, outputs)),
        tuple(map(statistics, entrances)),
        needs_input_quantizer(network.model, example),
    )
    bits = kept.entrance_bits(recipe)
    network.input_quant.extend(ActivationQuant(bits, seen.signed) for seen in kept.entrances if bits)
    calibrate(network, kept)
    network.example = example
    return network.eval()
