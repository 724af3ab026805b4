"""The words that quantizers get, and how each kind of layer gets them: see `mfsim.quant.layer_config`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfsim.quant.calibration import Subject
from mfsim.quant.recipe import LayerRecipe
from mfsim.quant.scales import Partner, weight_exponents
from mfsim.quant.statistics import Statistics

BETA_BITS = 16
"""Bits of the beta of a norm, signed."""


@dataclass(frozen=True, eq=False)
class QParams:
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


QParamsByPath = dict[str, QParams]
"""The words by path of the quantizer, such as `features.0.weight_quant`, or `features.0.accumulator`."""


class Weights:
    """Float weights [O, ...] by the path of their layer, and the exponents chosen for them."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._known: dict[tuple[object, ...], np.ndarray] = {}

    def exponents(self, path: str, words: LayerRecipe, partner: Partner | None) -> np.ndarray:
        """Return the exponents of a layer's weights, chosen once for equal words.

        Parameters
        ----------
        path : str
            Of the layer.
        words : LayerRecipe
            Of the layer: `weight`, `per_channel` and `calibration` count.
        partner : Partner or None
            The other operand of an MF product.

        Returns
        -------
        int64 array, shape () or [O]
            The second with one scale for each output channel.
        """
        key = (path, words.weight, words.per_channel, words.calibration, partner)
        if key not in self._known:
            self._known[key] = weight_exponents(
                self.arrays[path], words.weight, words.per_channel, words.calibration, partner
            )
        return self._known[key]


@dataclass(frozen=True)
class LayerConfig:
    """How layers of one kind get their words.

    Attributes
    ----------
    facts : (float layer, layer around it or None, its own path, shape of a sample that enters) -> `Subject.facts`
    options : (subject, recipe of the layer) -> arguments of the quantized layer; may raise `RecipeError`
    words : (subject, recipe of the layer, weights, plan so far) -> words of its quantizers
    rank : layers of a higher rank are decided later, and `words` may read what was decided for those of lower ones.
    """

    facts: Callable[[Any, Any, str, tuple[int, ...]], dict[str, Any]]
    options: Callable[[Subject, LayerRecipe], dict[str, Any]]
    words: Callable[[Subject, LayerRecipe, Weights, QParamsByPath], QParamsByPath]
    rank: int = 0


def word_for(seen: Statistics, bits: int, signed: bool, method: str, partner: Partner | None = None) -> QParams:
    """Return the word for seen values, on a scale chosen by `method`.

    Parameters
    ----------
    seen : Statistics
    bits : int in 2..32
    signed : bool
    method : {"mse", "max", "percentile"}
    partner : Partner, optional
        The other operand, where the values meet it in an MF product.

    Returns
    -------
    QParams
        With one exponent.
    """
    return word_on(bits, signed, seen.exponent(bits, signed, method, partner))


def word_on(bits: int, signed: bool, exponent: int | None) -> QParams:
    """Return the word on a given scale.

    Parameters
    ----------
    bits : int, at least 1
    signed : bool
    exponent : int or None
        The scale is 2**`exponent`; None, where all values are 0, stands for a full scale of 1.

    Returns
    -------
    QParams
        With one exponent.
    """
    return QParams(bits, signed, np.array(-(bits - 1) if exponent is None else exponent))


def no_facts(layer: Any, around: Any, path: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return no facts, for a kind of which nothing in the float layer matters.

    Parameters
    ----------
    layer, around, path, shape
        As `LayerConfig.facts` takes them; unused.

    Returns
    -------
    dict
        Empty.
    """
    return {}
