"""Which word and scale every quantizer gets: decided from a recipe, kept statistics and float weights alone.

`quantize` and `set_formats` both ask here, so that an edited file equals a freshly quantized network.
Nothing here knows torch or ONNX. A kind of layer is one entry in `KINDS`: what of the float layer
matters, the options that the quantized layer is built with, and the words of its quantizers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.errors import RecipeError
from mfsim.ops.wht import norm_exponent
from mfsim.quant.calibration import Calibration, Subject
from mfsim.quant.recipe import MOST_BITS, PROVED, LayerRecipe, Recipe
from mfsim.quant.scales import Partner, fitting_exponent, weight_exponents
from mfsim.quant.statistics import Statistics

HEADROOM = 1
"""Octaves that an output's word holds beyond what calibration saw, so that no unseen logit saturates."""


@dataclass(frozen=True, eq=False)
class Word:
    """The word of one quantizer; `exponents` is int64, of no axis or one entry for each output channel."""

    bits: int
    signed: bool
    exponents: np.ndarray
    overflow: str = ""
    """What an accumulator does; quantizers saturate."""

    @property
    def exponent(self) -> int:
        """The exponent of a scale for the whole tensor."""
        return int(self.exponents)


Plan = dict[str, Word]
"""The words by path of the quantizer, such as `features.0.weight_quant`, or `features.0.accumulator`."""


class Weights:
    """Float weights [O, ...] by the path of their layer, and the exponents chosen for them."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._known: dict[tuple[object, ...], Any] = {}

    def power(self, path: str) -> float:
        """Return the mean square of the weights of the layer at `path`."""
        key = (path,)
        if key not in self._known:
            self._known[key] = float(np.mean(self.arrays[path].astype(np.float64) ** 2))
        power: float = self._known[key]
        return power

    def exponents(self, path: str, words: LayerRecipe, partner: Partner | None) -> np.ndarray:
        """Return the exponents of the weights: one, or one for each output channel."""
        key = (path, words.weight, words.per_channel, words.calibration, partner)
        if key not in self._known:
            self._known[key] = weight_exponents(
                self.arrays[path], words.weight, words.per_channel, words.calibration, partner
            )
        exponents: np.ndarray = self._known[key]
        return exponents


@dataclass(frozen=True)
class Kind:
    """How layers of one kind get their words.

    Attributes
    ----------
    facts : (float layer, layer around it or None, its own path) -> `Subject.facts`
    options : (subject, recipe of the layer) -> arguments of the quantized layer; may raise `RecipeError`
    words : (subject, recipe of the layer, weights, plan so far) -> words of its quantizers
    late : whether `words` reads what was decided for other layers.
    """

    facts: Callable[[Any, Any, str], dict[str, Any]]
    options: Callable[[Subject, LayerRecipe], dict[str, Any]]
    words: Callable[[Subject, LayerRecipe, Weights, Plan], Plan]
    late: bool = False


def word_for(seen: Statistics, bits: int, signed: bool, method: str, partner: Partner | None = None) -> Word:
    """Return the word of `bits` for the values in `seen`, on a scale chosen by `method`."""
    return _word(bits, signed, seen.exponent(bits, signed, method, partner))


def _word(bits: int, signed: bool, exponent: int | None) -> Word:
    return Word(bits, signed, np.array(-(bits - 1) if exponent is None else exponent))


def _no_facts(layer: Any, around: Any, path: str) -> dict[str, Any]:
    return {}


# Layers with one activation quantizer.


def _activation_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": subject.seen.signed}


def _quantizer_called(name: str) -> Callable[[Subject, LayerRecipe, Weights, Plan], Plan]:
    def decide(subject: Subject, words: LayerRecipe, weights: Weights, plan: Plan) -> Plan:
        word = word_for(subject.seen, words.activation, subject.seen.signed, words.calibration)
        return {f"{subject.path}{name}": word}

    return decide


# Clips.


def _clip_facts(layer: Any, around: Any, path: str) -> dict[str, Any]:
    return {"largest": float(max(abs(layer.min_val), abs(layer.max_val))), "signed": layer.min_val < 0}


def _clip_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": subject.seen.signed and subject.facts["signed"]}


def _clip_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: Plan) -> Plan:
    bits, signed = _clip_options(subject, words).values()
    largest = min(subject.seen.largest, subject.facts["largest"])
    exponent = fitting_exponent(largest, (1 << (bits - int(signed))) - 1)
    return {f"{subject.path}.input_quant": _word(bits, signed, exponent)}


# Soft thresholds: on the scale of their input.


def transform_bits(around: Any) -> int:
    """Return log2 of the product of the lengths that a `WHTLayer` transforms: the bits that this adds."""
    return sum((around.transform.block or n).bit_length() - 1 for n in around.padded)


def _threshold_facts(layer: Any, around: Any, path: str) -> dict[str, Any]:
    if around is None:
        return {}
    transform, added = around.transform, transform_bits(around)
    return {
        "behind": f"{path.rpartition('.')[0]}.entry".lstrip("."),
        "bits": added,
        "gain": norm_exponent(added, transform.norm, int(transform.inverse)),
    }


def _threshold_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    proved, inside = words.threshold == PROVED, "behind" in subject.facts
    bits = min(words.activation + subject.facts.get("bits", 0), MOST_BITS)
    return {
        "threshold_bits": bits if proved else words.threshold,
        "proved": proved,
        "bits": 0 if inside else words.activation,
        "signed": subject.seen.signed,
    }


def _threshold_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: Plan) -> Plan:
    made: Plan = {}
    if "behind" in subject.facts:
        exponent = plan[subject.facts["behind"]].exponent + subject.facts["gain"]
    else:
        made = _quantizer_called(".input_quant")(subject, words, weights, plan)
        exponent = made[f"{subject.path}.input_quant"].exponent
    bits = _threshold_options(subject, words)["threshold_bits"]
    return made | {f"{subject.path}.threshold_quant": _word(bits, False, exponent)}


# Products with weights.


def _dense_facts(layer: Any, around: Any, path: str) -> dict[str, Any]:
    return {"bias": layer.bias is not None}


def _mf_facts(layer: Any, around: Any, path: str) -> dict[str, Any]:
    return {"bias": layer.bias is not None, "sign_zero": layer.sign_zero, "grid": layer.grid}


def _product_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    grid = subject.facts.get("grid", "split")
    if words.per_channel and grid != "split":
        raise RecipeError(
            f"`per_channel` of layer `{subject.path}` must be false, because its MF product has the grid {grid}"
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


def _dense_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: Plan) -> Plan:
    x = word_for(subject.seen, words.activation, subject.seen.signed, words.calibration)
    w = weights.exponents(subject.path, words, None)
    return _product_words(subject, words, x, w, x.exponents + w)


def _mf_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: Plan) -> Plan:
    zero, signed = subject.facts["sign_zero"], subject.seen.signed
    partner = Partner(weights.power(subject.path), zero)
    x = word_for(subject.seen, words.activation, signed, words.calibration, partner)
    w = weights.exponents(subject.path, words, Partner(subject.seen.power, zero))
    w = np.maximum(w, x.exponent - _spread(weights.arrays[subject.path], words, signed))
    if subject.facts["grid"] == "shared":
        w = np.maximum(x.exponents, w)
        x = Word(x.bits, x.signed, w)
    return _product_words(subject, words, x, w, np.minimum(x.exponents, w))


def _spread(weight: np.ndarray, words: LayerRecipe, signed: bool) -> int:
    """Return by how many octaves the weights of an MF product may be finer than its input.

    The input's part is shifted by as much onto the joined grid, where float32 holds sums up to 2**24;
    half of that is left to the bias. Where the weights are far smaller than the input, some round to 0
    at that limit, and with `sign_zero` 0 their terms lose the input's part too.
    """
    largest_x = 1 << (words.activation - int(signed))
    room = (1 << 23) // weight[0].size - (1 << (words.weight - 1))
    return max(room // largest_x, 1).bit_length() - 1


def _product_words(subject: Subject, words: LayerRecipe, x: Word, w: np.ndarray, grid: np.ndarray) -> Plan:
    made = {f"{subject.path}.input_quant": x, f"{subject.path}.weight_quant": Word(words.weight, True, w)}
    if subject.facts["bias"]:
        made[f"{subject.path}.bias_quant"] = Word(words.bias, True, grid)
    if words.accumulator != PROVED:
        made[f"{subject.path}.accumulator"] = Word(int(words.accumulator), True, grid, words.overflow)
    return made


_DENSE = Kind(_dense_facts, _product_options, _dense_words)
_MF = Kind(_mf_facts, _product_options, _mf_words)
KINDS: dict[str, Kind] = {
    "ActivationQuant": Kind(_no_facts, _activation_options, _quantizer_called("")),
    "QuantConv2d": _DENSE,
    "QuantHardtanh": Kind(_clip_facts, _clip_options, _clip_words),
    "QuantLinear": _DENSE,
    "QuantMFConv2d": _MF,
    "QuantMFLinear": _MF,
    "QuantSoftThreshold": Kind(_threshold_facts, _threshold_options, _threshold_words, late=True),
    "QuantWHT": Kind(_no_facts, _activation_options, _quantizer_called(".input_quant")),
    "Requantized": Kind(_no_facts, _activation_options, _quantizer_called(".result_quant")),
}
"""How each kind of quantized layer gets its words."""


def decide(calibration: Calibration, recipe: Recipe, weights: Weights) -> Plan:
    """Return the word of every quantizer by `recipe`; a `RecipeError` if it says what a layer cannot have."""
    plan: Plan = {}
    for subject in sorted(calibration.subjects, key=lambda subject: KINDS[subject.kind].late):
        words = recipe.layer(subject.path)
        KINDS[subject.kind].options(subject, words)
        plan |= KINDS[subject.kind].words(subject, words, weights, plan)
    for k, seen in enumerate(calibration.outputs):
        exponent = seen.exponent(recipe.output, True, "max")
        plan[f"output_quant.{k}"] = _word(recipe.output, True, None if exponent is None else exponent + HEADROOM)
    bits = calibration.entrance_bits(recipe)
    for k, seen in enumerate(calibration.entrances if bits else ()):
        plan[f"input_quant.{k}"] = word_for(seen, bits, seen.signed, recipe.defaults.calibration)
    return plan
