"""Words and scales of every quantizer, decided from a recipe, kept statistics and float weights alone; what follows from them; and what a sweep can ask of them."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from mfsim.errors import RecipeError
from mfsim.quant.calibration import Calibration, Subject
from mfsim.quant.layer_config import config_of, result_words
from mfsim.quant.nonlinear import NONLINEAR
from mfsim.quant.qparams import QParamsByPath, Weights, word_for, word_on
from mfsim.quant.quantizers import stored_scale
from mfsim.quant.recipe import LayerRecipe, Recipe

# Which word and scale every quantizer gets: decided from a recipe, kept statistics and float weights alone.
#
# `quantize` and `set_formats` both ask here, so that an edited file equals a freshly quantized network.
# Neither this nor what it asks knows torch or ONNX.

HEADROOM = 1
"""Octaves that an output's word holds beyond what calibration saw, so that no unseen logit saturates."""


def choose_qparams(
    calibration: Calibration,
    recipe: Recipe,
    weights: Weights,
    known: MutableMapping[tuple[str, LayerRecipe], QParamsByPath] | None = None,
) -> QParamsByPath:
    """Return the word of every quantizer by a recipe.

    Parameters
    ----------
    calibration : Calibration
        Its own recipe does not count.
    recipe : Recipe
    weights : Weights
        Float weights by path of their layer.
    known : mutable mapping, optional
        Keeps what was decided for a layer and its recipe, where nothing else matters, from one call to the next.

    Returns
    -------
    dict of str to QParams
        By path of the quantizer.

    Raises
    ------
    RecipeError
        If the recipe says what a layer cannot have.
    """
    known = {} if known is None else known
    plan: QParamsByPath = {}
    for k, seen in enumerate(calibration.outputs):
        exponent = seen.exponent(recipe.output, True, "max")
        plan[f"output_quant.{k}"] = word_on(recipe.output, True, None if exponent is None else exponent + HEADROOM)
    bits = calibration.entrance_bits(recipe)
    for k, seen in enumerate(calibration.entrances if bits else ()):
        plan[f"input_quant.{k}"] = word_for(seen, bits, seen.signed, recipe.defaults.calibration)
    for subject in sorted(calibration.subjects, key=lambda subject: config_of(subject).rank):
        kind, words = config_of(subject), recipe.layer(subject.path)
        made = known.get((subject.path, words))
        if made is None:
            kind.options(subject, words)  # says what the layer cannot have
            made = kind.words(subject, words, weights, plan if kind.rank else {})
            if kind.rank == 0:
                known[subject.path, words] = made
        plan |= made
    for subject in calibration.subjects:
        if "readers" in subject.facts:
            plan |= result_words(subject, recipe.layer(subject.path), plan)
    return plan


# What follows from the words of a nonlinear layer: tables, thresholds, guards.
#
# The layer is made again, with its quantizers as they are decided, and asked: there is no second place
# where these constants come from.


@torch.no_grad()
def derived_constants(
    subject: Subject, words: LayerRecipe, plan: QParamsByPath, parameters: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the derived constants of a nonlinear layer by name, its scales among them.

    Parameters
    ----------
    subject, words : the layer and its recipe.
    plan : with the words of its quantizers.
    parameters : arrays
        `weight`, `bias` and `weight.scale` of a norm or filterbank, as far as it has them.

    Raises
    ------
    RecipeError
        If a word suits no table, or a constant does not fit its word.
    """
    kinds = {kind.__name__: kind for kind in NONLINEAR}
    kind = kinds[subject.facts["class"]]
    layer = kind(**subject.facts["arguments"])
    quantized = NONLINEAR[kind](layer, **config_of(subject).options(subject, words))
    for name in ("weight", "bias"):
        if name in parameters:
            quantized.get_parameter(name).copy_(torch.tensor(parameters[name]))
    scales = {"x_scale": quantized.input_quant.scale}
    if subject.at("weight_quant") in plan:
        scales["gain_scale"] = stored_scale(quantized.get_submodule("weight_quant"))
        scales["gain_scale"].fill_(2.0 ** plan[subject.at("weight_quant")].exponent)
    elif "weight.scale" in parameters:
        stored_scale(quantized.get_submodule("weight_quant")).copy_(torch.tensor(parameters["weight.scale"]))
    quantized.input_quant.scale.fill_(2.0 ** plan[subject.at("input_quant")].exponent)
    quantized.y_scale.fill_(2.0 ** plan[subject.at("y_scale")].exponent)
    quantized.derive()
    constants = {name: values.numpy() for name, values in quantized.named_buffers(recurse=False)}
    return {name.removesuffix("_code"): values for name, values in constants.items()} | {
        name: scale.numpy() for name, scale in scales.items()
    }


# Which keys of a recipe decide something in a layer: what a sweep can ask of it.

_OTHERS: Mapping[str, Any] = {
    "weight": 7,
    "activation": 7,
    "residual": 15,
    "bias": 31,
    "accumulator": 24,
    "overflow": "wrap",
    "threshold": 7,
    "per_channel": True,
}
"""Another value than the default for each key but `calibration`, which is every layer's."""


def sweep_keys(subject: Subject) -> tuple[str, ...]:
    """Return the recipe's keys that decide how a layer is built or scaled.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    tuple of str
        In the order of the recipe; "calibration" is always the last.
    """
    options = config_of(subject).options
    base = options(subject, LayerRecipe())

    def decides(key: str) -> bool:
        try:
            return options(subject, replace(LayerRecipe(), **{key: _OTHERS[key]})) != base
        except RecipeError:  # the layer cannot have it
            return False

    return (*(key for key in _OTHERS if decides(key)), "calibration")
