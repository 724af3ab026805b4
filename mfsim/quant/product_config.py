"""The words of products with weights: both operands, bias and accumulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mfsim.errors import RecipeError
from mfsim.quant.calibration import Subject
from mfsim.quant.qparams import LayerConfig, QParams, QParamsByPath, Weights, no_facts, word_for
from mfsim.quant.recipe import PROVED, LayerRecipe
from mfsim.quant.scales import Partner, power_exponents


def _mf_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    power = float(np.mean(layer.weight.detach().numpy().astype(np.float64) ** 2))
    return {"sign_zero": layer.sign_zero, "grid": layer.grid, "power": power}


def _product_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    grid = subject.facts.get("grid", "split")
    if words.per_channel and grid != "split":
        raise RecipeError(
            f"`per_channel` of layer `{subject.path}` must be false, because its product has the grid {grid}"
        )
    return {
        "activation": words.activation,
        "signed": subject.seen.signed,
        "weight": words.weight,
        "per_channel": words.per_channel,
        "bias": words.bias,
        "accumulator": 0 if words.accumulator == PROVED else words.accumulator,
        "overflow": words.overflow,
    }


def _weight_exponents(subject: Subject, words: LayerRecipe, choose: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the exponents of the weights; those with which they were trained, where their words are those of then."""
    trained = subject.facts.get("trained", {})
    if trained.get("words") == [words.weight, words.per_channel, words.calibration]:
        return np.array(trained["exponents"])
    return choose()


def _whole_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return _product_options(subject, _whole(words))


def _whole(words: LayerRecipe) -> LayerRecipe:
    return replace(words, per_channel=False)


def _whole_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    return _dense_words(subject, _whole(words), weights, plan)


def _dense_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    x = word_for(subject.seen, words.activation, subject.seen.signed, words.calibration)
    w = _weight_exponents(subject, words, lambda: weights.exponents(subject.path, words, None))
    return _product_words(subject, words, x, w, x.exponents + w)


def _power_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    x = word_for(subject.seen, words.activation, subject.seen.signed, words.calibration)
    weight = weights.arrays[subject.path]
    w = _weight_exponents(subject, words, lambda: power_exponents(weight, words.weight, words.per_channel))
    return _product_words(subject, words, x, w, x.exponents + w)


def _joined_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    """Return the words of a product whose accumulator lies on the finer of both scales."""
    signed, x_partner, w_partner = subject.seen.signed, None, None
    if "sign_zero" in subject.facts:
        zero = subject.facts["sign_zero"]
        x_partner, w_partner = Partner(subject.facts["power"], zero), Partner(subject.seen.power, zero)
    x = word_for(subject.seen, words.activation, signed, words.calibration, x_partner)
    w = _weight_exponents(subject, words, lambda: weights.exponents(subject.path, words, w_partner))
    w = np.maximum(w, x.exponent - _spread(weights.arrays[subject.path], words, signed))
    if subject.facts.get("grid") == "shared":
        w = np.maximum(x.exponents, w)
        x = QParams(x.bits, x.signed, w)
    return _product_words(subject, words, x, w, np.minimum(x.exponents, w))


def _spread(weight: np.ndarray, words: LayerRecipe, signed: bool) -> int:
    """Return by how many octaves the weights of such a product may be finer than its input.

    The input's part is shifted by as much onto the joined grid, where float32 holds sums up to 2**24;
    half of that is left to the bias. Where the weights are far smaller than the input, some round to 0
    at that limit, and with `sign_zero` 0 their terms lose the input's part too.
    """
    largest_x = 1 << (words.activation - int(signed))
    room = (1 << 23) // weight[0].size - (1 << (words.weight - 1))
    return int(max(room // largest_x, 1)).bit_length() - 1


def _product_words(subject: Subject, words: LayerRecipe, x: QParams, w: np.ndarray, grid: np.ndarray) -> QParamsByPath:
    made = {
        subject.at("input_quant"): x,
        subject.at("weight_quant"): QParams(words.weight, True, w),
        subject.at("bias_quant"): QParams(words.bias, True, grid),
    }
    if words.accumulator != PROVED:
        made[subject.at("accumulator")] = QParams(int(words.accumulator), True, grid, words.overflow)
    return made


DENSE = LayerConfig(no_facts, _product_options, _dense_words)
"""Products whose accumulator lies on the product of both scales."""

WHOLE = LayerConfig(no_facts, _whole_options, _whole_words)
"""Those whose outputs lie along several axes, so that they have one weight scale whatever the recipe says."""

POWER = LayerConfig(no_facts, _product_options, _power_words)
"""Those whose weights are powers of two."""

JOINED = LayerConfig(no_facts, _product_options, _joined_words)
"""Products whose accumulator lies on the finer of both scales."""

MF = LayerConfig(_mf_facts, _product_options, _joined_words)
"""Those in which the sign of one operand meets the other one."""
