"""Constants that must fit their words: biases, thresholds, and weights of which something is left."""

from __future__ import annotations

from collections.abc import Mapping, MutableSet

import numpy as np

from mfsim.errors import RecipeError
from mfsim.quant.calibration import Calibration
from mfsim.quant.qparams import QParamsByPath
from mfsim.quant.recipe import PROVED, Recipe


def check_plan(
    calibration: Calibration,
    recipe: Recipe,
    plan: QParamsByPath,
    weights: Mapping[str, np.ndarray],
    biases: Mapping[str, np.ndarray],
    thresholds: Mapping[str, np.ndarray],
    known: MutableSet[tuple[object, ...]] | None = None,
) -> None:
    """Check the constants of all layers, in their order, against their words in `plan`.

    Parameters
    ----------
    calibration : Calibration
    recipe : Recipe
        The one that `plan` follows.
    plan : dict of str to QParams
        As `choose_qparams` and `derived_constants` return it.
    weights : mapping of str to float array, shape [O, ...]
        By path of the layer, as the two others.
    biases : mapping of str to float array, shape [O]
    thresholds : mapping of str to float array, shape [size]
    known : mutable set, optional
        Keeps from one call to the next which constants fit which words.

    Raises
    ------
    RecipeError
        For the first constant that does not fit its word, and for weights that all become 0.
    """
    known = set() if known is None else known
    for subject in calibration.subjects:
        path = subject.path
        if subject.at("weight_quant") in plan:
            weight, bias = plan[subject.at("weight_quant")], plan[subject.at("bias_quant")]
            key: tuple[object, ...] = (path, weight.exponents.tobytes(), bias.exponents.tobytes(), bias.bits)
            if key not in known:
                check_product(path, weights[path], biases.get(path), weight.exponents, bias.exponents, bias.bits)
        elif path in thresholds and recipe.layer(path).threshold != PROVED:
            word = plan[subject.at("threshold_quant")]
            key = (path, word.exponents.tobytes(), word.bits)
            if key not in known:
                check_threshold(path, thresholds[path], word.exponents, word.bits)
        else:
            continue
        known.add(key)


def check_product(
    path: str,
    weight: np.ndarray,
    bias: np.ndarray | None,
    exponents: np.ndarray,
    grid: np.ndarray,
    bias_bits: int,
) -> None:
    """Check that something is left of a product's weights, and that its bias fits its word.

    Parameters
    ----------
    path : str
        Of the layer, for messages.
    weight : float array, shape [O, ...]
    bias : float array, shape [O], or None
    exponents : int64 array, shape () or [O]
        Of the weights' scales.
    grid : int64 array, shape () or [O]
        Exponents of the accumulator's scales.
    bias_bits : int in 2..32
        Of the bias's word, signed.

    Raises
    ------
    RecipeError
        If the weights all become 0, or the bias needs more bits.
    """
    largest = np.abs(weight).reshape(len(weight), -1).max(axis=1, initial=0.0).astype(np.float64)
    if largest.any() and not np.rint(np.ldexp(largest, -exponents)).any():
        raise RecipeError(
            f"the weights of layer `{path}` all round to 0 on the scale 2^{exponents.max()}, the finest that its input leaves "
            "them; scale the input down, or give the input more bits"
        )
    if bias is not None:
        _check_word(f"the bias of layer `{path}`", bias, grid, bias_bits, True)


def check_threshold(path: str, thresholds: np.ndarray, exponent: np.ndarray, bits: int) -> None:
    """Check that the thresholds of a layer fit their word.

    One in its proved word need not be asked: it is at least as large as anything it meets where it
    saturates, so that nothing changes.

    Parameters
    ----------
    path : str
        Of the layer, for messages.
    thresholds : float array, any shape
    exponent : int64 array, shape ()
        Of the thresholds' scale.
    bits : int, at least 1
        Of their word, unsigned.

    Raises
    ------
    RecipeError
        If a threshold needs more bits.
    """
    _check_word(f"a threshold of layer `{path}`", thresholds, exponent, bits, False)


def _check_word(what: str, values: np.ndarray, exponents: np.ndarray, bits: int, signed: bool) -> None:
    largest = int(np.rint(np.abs(np.ldexp(values.astype(np.float64), -exponents)).max()))
    needed = largest.bit_length() + int(signed)
    if needed > bits:
        raise RecipeError(f"{what} needs {needed} bits on its grid, and its word has {bits}")
