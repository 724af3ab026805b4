"""How each kind of quantized layer gets its words: one entry in `KINDS`.

`facts` is what of the float layer matters, `options` what the quantized layer is built with, `words`
what its quantizers get; see `mfsim.quant.qparams.Kind`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mfsim.ops.wht.wht import norm_exponent
from mfsim.quant.calibration import Subject
from mfsim.quant.nonlinear import BY_NAME
from mfsim.quant.nonlinear import NONLINEAR as LAYERS
from mfsim.quant.product_config import DENSE, JOINED, MF, POWER, WHOLE
from mfsim.quant.qparams import BETA_BITS, LayerConfig, QParams, QParamsByPath, Weights, no_facts, word_for, word_on
from mfsim.quant.recipe import MOST_BITS, PROVED, LayerRecipe
from mfsim.quant.scales import Partner, fitting_exponent

# Layers with one activation quantizer.


def _activation_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": subject.seen.signed}


def _quantizer_called(name: str) -> Callable[[Subject, LayerRecipe, Weights, QParamsByPath], QParamsByPath]:
    def decide(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
        word = word_for(subject.seen, words.activation, subject.seen.signed, words.calibration)
        return {subject.at(name): word}

    return decide


# Clips.


def _clip_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"largest": float(max(abs(layer.min_val), abs(layer.max_val))), "signed": layer.min_val < 0}


def _clip_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": subject.seen.signed and subject.facts["signed"]}


def _clip_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    bits, signed = _clip_options(subject, words).values()
    largest = min(subject.seen.largest, subject.facts["largest"])
    exponent = fitting_exponent(largest, (1 << (bits - int(signed))) - 1)
    return {subject.at("input_quant"): word_on(bits, signed, exponent)}


# Soft thresholds: on the scale of their input.


def transform_bits(around: Any) -> int:
    """Return log2 of the product of the lengths that a `WHTLayer` transforms: the bits that this adds.

    Parameters
    ----------
    around : WHTLayer

    Returns
    -------
    int
        Bits, at least 0.
    """
    return sum((around.transform.block or n).bit_length() - 1 for n in around.padded)


def _threshold_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
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


def _threshold_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    made: QParamsByPath = {}
    if "behind" in subject.facts:
        exponent = plan[subject.facts["behind"]].exponent + subject.facts["gain"]
    else:
        made = _quantizer_called("input_quant")(subject, words, weights, plan)
        exponent = made[subject.at("input_quant")].exponent
    bits = _threshold_options(subject, words)["threshold_bits"]
    return made | {subject.at("threshold_quant"): word_on(bits, False, exponent)}


# Token embeddings and power-of-two gains: a constant on the grid of what comes in.


def _embedding_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.residual, "signed": subject.seen.signed, "bias_bits": words.bias}


def _embedding_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    x = word_for(subject.seen, words.residual, subject.seen.signed, words.calibration)
    return {subject.at("input_quant"): x, subject.at("bias_quant"): QParams(words.bias, True, x.exponents)}


# Embeddings: a table on the grid of its largest entry, whether calibration met that or not.


def _table_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"largest": float(layer.weight.detach().abs().max())}


def _table_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.weight}


def _table_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    exponent = fitting_exponent(subject.facts["largest"], (1 << (words.weight - 1)) - 1)
    return {subject.at("table_quant"): word_on(words.weight, True, exponent)}


# Layers of two activations.


def _sum_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"one_scale": True}


def _mf_pair_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"one_scale": layer.grid == "shared", "sign_zero": layer.sign_zero, "terms": shape[-1]}


def _mf_mul_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return _mf_pair_facts(layer, around, path, shape) | {"terms": 1}


def _sum_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.residual, "signed": [any(seen.signed for seen in subject.statistics.values())] * 2}


def _pair_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": [seen.signed for seen in subject.statistics.values()]}


def _pair_words(options: Callable[[Subject, LayerRecipe], dict[str, Any]]) -> Callable[..., QParamsByPath]:
    def decide(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
        """Give each operand its scale; where they share one, the coarser of both."""
        bits, signed = options(subject, words).values()
        seen, zero = list(subject.statistics.values()), subject.facts.get("sign_zero")
        pair = {
            subject.at(name): word_for(
                values, bits, sign, words.calibration, None if zero is None else Partner(other.power, zero)
            )
            for name, values, sign, other in zip(subject.statistics, seen, signed, reversed(seen), strict=True)
        }
        coarser = max(word.exponent for word in pair.values())
        if subject.facts.get("one_scale"):
            return {path: word_on(bits, word.signed, coarser) for path, word in pair.items()}
        if zero is None:
            return pair
        finest = coarser - _room(subject.facts["terms"], bits, signed)
        return {path: word_on(bits, word.signed, max(word.exponent, finest)) for path, word in pair.items()}

    return decide


def _room(terms: int, bits: int, signed: list[bool]) -> int:
    """Return by how many octaves one operand of an MF product of activations may be finer than the other.

    The coarser one is shifted by as much onto the joined grid, where float32 holds sums up to 2**24.
    """
    largest = 1 << max(bits - int(sign) for sign in signed)
    return max(((1 << 24) // terms - largest) // largest, 1).bit_length() - 1


# Rotary positions: cosines and sines of which 1 is a code.


def _rope_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return _activation_options(subject, words) | {"weight": words.weight}


def _rope_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    fixed = word_on(words.weight, True, 2 - words.weight)
    x = _quantizer_called("input_quant")(subject, words, weights, plan)
    return x | {subject.at("cosine_quant"): fixed, subject.at("sine_quant"): fixed}


# Nonlinear layers: the result lies on the grid of the quantizers that read it, the finest where they differ.

FINEST, COARSEST = -24, -1
"""Exponents of the grids that the result of a softmax or tanh-l1 may lie on."""


def _nonlinear_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    names = LAYERS[type(layer)].arguments
    arguments = {name: getattr(layer, name) for name in names if hasattr(layer, name)}
    return {"class": type(layer).__name__, "arguments": arguments}


def _row_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return _nonlinear_facts(layer, around, path, shape) | {"length": shape[-1], "range": [FINEST, COARSEST]}


def _nonlinear_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return {"bits": words.activation, "signed": subject.statistics["input_quant"].signed}


def _row_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return _nonlinear_options(subject, words) | {"length": subject.facts["length"]}


def _nonlinear_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    seen = subject.statistics["input_quant"]
    return {subject.at("input_quant"): word_for(seen, words.activation, seen.signed, words.calibration)}


def _gain_options(subject: Subject, words: LayerRecipe) -> dict[str, Any]:
    return _nonlinear_options(subject, words) | {"weight": words.weight}


def _gain_words(subject: Subject, words: LayerRecipe, weights: Weights, plan: QParamsByPath) -> QParamsByPath:
    gains = weights.exponents(subject.path, replace(words, per_channel=False), None)
    word = QParams(words.weight, True, gains)
    return _nonlinear_words(subject, words, weights, plan) | {subject.at("weight_quant"): word}


def result_words(subject: Subject, words: LayerRecipe, plan: QParamsByPath) -> QParamsByPath:
    """Return the words behind a nonlinear layer: the grid of its result, and that of its bias.

    Parameters
    ----------
    subject : Subject
        With `readers` among its facts.
    words : LayerRecipe
        Of the layer.
    plan : dict of str to QParams
        Holds the word of every reader.

    Returns
    -------
    dict of str to QParams
        By the paths of `y_scale` and `bias_quant`; the bias has 16 bits.
    """
    seen = subject.statistics["y_scale"]
    y = word_for(seen, words.activation, seen.signed, words.calibration)
    if subject.facts["readers"]:
        y = min((plan[reader] for reader in subject.facts["readers"]), key=lambda word: word.exponent)
    if "range" in subject.facts:
        y = word_on(y.bits, y.signed, min(max(y.exponent, subject.facts["range"][0]), subject.facts["range"][1]))
    return {subject.at("y_scale"): y, subject.at("bias_quant"): word_on(BETA_BITS, True, y.exponent)}


_PAIR = LayerConfig(no_facts, _pair_options, _pair_words(_pair_options))

_GRID = LayerConfig(no_facts, _embedding_options, _embedding_words)

_ENTERED = LayerConfig(no_facts, _activation_options, _quantizer_called("input_quant"))

_ROW = LayerConfig(_row_facts, _row_options, _nonlinear_words)

LAYER_CONFIGS: dict[str, LayerConfig] = {
    "ActivationQuant": LayerConfig(no_facts, _activation_options, _quantizer_called("")),
    "QuantAdd": LayerConfig(_sum_facts, _sum_options, _pair_words(_sum_options)),
    "QuantAdderConv2d": JOINED,
    "QuantAdderLinear": JOINED,
    "QuantAffine": WHOLE,
    "QuantAvgPool2d": _ENTERED,
    "QuantCachedRows": LayerConfig(no_facts, _activation_options, _quantizer_called("result_quant")),
    "QuantConv2d": DENSE,
    "QuantDCT": DENSE,
    "QuantEmbedding": LayerConfig(_table_facts, _table_options, _table_words),
    "QuantFilterbank": WHOLE,
    "QuantFilterbankFFT": LayerConfig(_nonlinear_facts, _gain_options, _gain_words),
    "QuantGlobalAvgPool2d": _ENTERED,
    "QuantGram": _ENTERED,
    "QuantHardtanh": LayerConfig(_clip_facts, _clip_options, _clip_words),
    "QuantLinear": DENSE,
    "QuantMFConv2d": MF,
    "QuantMFLinear": MF,
    "QuantMFMatMul": LayerConfig(_mf_pair_facts, _pair_options, _pair_words(_pair_options)),
    "QuantMFMul": LayerConfig(_mf_mul_facts, _pair_options, _pair_words(_pair_options)),
    "QuantMatMul": _PAIR,
    "QuantMinConv2d": JOINED,
    "QuantMinLinear": JOINED,
    "QuantMul": _PAIR,
    "QuantRope": LayerConfig(no_facts, _rope_options, _rope_words),
    "QuantScaling": WHOLE,
    "QuantShiftAffine": _GRID,
    "QuantShiftConv2d": POWER,
    "QuantShiftLinear": POWER,
    "QuantSoftThreshold": LayerConfig(_threshold_facts, _threshold_options, _threshold_words, rank=1),
    "QuantTokenEmbedding": _GRID,
    "QuantTriangularLinear": DENSE,
    "QuantWHT": _ENTERED,
    "Requantized": LayerConfig(no_facts, _activation_options, _quantizer_called("result_quant")),
}
"""How each kind of quantized layer gets its words; see `config_for` for every other one."""

NONLINEAR = LayerConfig(_nonlinear_facts, _nonlinear_options, _nonlinear_words)
"""How nonlinear layers get their words; `readers` among the facts are the quantizers that read the result."""


def config_for(kind: str) -> LayerConfig:
    """Return how the quantized layers of a kind get their words.

    Parameters
    ----------
    kind : str
        Name of a quantized layer's class.

    Returns
    -------
    LayerConfig
    """
    if kind in LAYER_CONFIGS:
        return LAYER_CONFIGS[kind]
    return _ROW if kind in BY_NAME and BY_NAME[kind].whole_rows else NONLINEAR


def config_of(subject: Subject) -> LayerConfig:
    """Return how the layer gets its words.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    LayerConfig
    """
    return config_for(subject.kind)
