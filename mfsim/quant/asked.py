"""Which keys of a recipe decide something in a layer: what a sweep can ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mfsim.errors import RecipeError
from mfsim.quant.calibration import Subject
from mfsim.quant.kinds import kind_of
from mfsim.quant.recipe import LayerRecipe

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


def asked_keys(subject: Subject) -> tuple[str, ...]:
    """Return the keys that decide how a layer is built or scaled, in the order of the recipe."""
    options = kind_of(subject).options
    base = options(subject, LayerRecipe())

    def decides(key: str) -> bool:
        try:
            return options(subject, replace(LayerRecipe(), **{key: _OTHERS[key]})) != base
        except RecipeError:  # the layer cannot have it
            return False

    return (*(key for key in _OTHERS if decides(key)), "calibration")
