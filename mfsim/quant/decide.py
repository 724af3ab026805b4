"""Which word and scale every quantizer gets: decided from a recipe, kept statistics and float weights alone.

`quantize` and `set_formats` both ask here, so that an edited file equals a freshly quantized network.
Neither this nor what it asks knows torch or ONNX.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from mfsim.quant.calibration import Calibration
from mfsim.quant.kinds import kind_of, result_words
from mfsim.quant.recipe import LayerRecipe, Recipe
from mfsim.quant.words import Plan, Weights, word_for, word_on

HEADROOM = 1
"""Octaves that an output's word holds beyond what calibration saw, so that no unseen logit saturates."""


def decide(
    calibration: Calibration,
    recipe: Recipe,
    weights: Weights,
    known: MutableMapping[tuple[str, LayerRecipe], Plan] | None = None,
) -> Plan:
    """Return the word of every quantizer by `recipe`; a `RecipeError` if it says what a layer cannot have.

    `known` keeps what was decided for a layer and its recipe, where nothing else matters, from one call to the next.
    """
    known = {} if known is None else known
    plan: Plan = {}
    for k, seen in enumerate(calibration.outputs):
        exponent = seen.exponent(recipe.output, True, "max")
        plan[f"output_quant.{k}"] = word_on(recipe.output, True, None if exponent is None else exponent + HEADROOM)
    bits = calibration.entrance_bits(recipe)
    for k, seen in enumerate(calibration.entrances if bits else ()):
        plan[f"input_quant.{k}"] = word_for(seen, bits, seen.signed, recipe.defaults.calibration)
    for subject in sorted(calibration.subjects, key=lambda subject: kind_of(subject).rank):
        kind, words = kind_of(subject), recipe.layer(subject.path)
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
