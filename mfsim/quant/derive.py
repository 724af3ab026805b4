"""What follows from the words of a nonlinear layer: tables, thresholds, guards.

The layer is made again, with its quantizers as they are decided, and asked: there is no second place
where these constants come from.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from mfsim.quant.calibration import Subject
from mfsim.quant.kinds import kind_of
from mfsim.quant.nonlinear import NONLINEAR
from mfsim.quant.quantizers import stored_scale
from mfsim.quant.recipe import LayerRecipe
from mfsim.quant.words import Plan


@torch.no_grad()
def derived_constants(
    subject: Subject, words: LayerRecipe, plan: Plan, parameters: Mapping[str, np.ndarray]
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
    quantized = NONLINEAR[kind](layer, **kind_of(subject).options(subject, words))
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
