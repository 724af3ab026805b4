"""Quantize float networks: recipe, folding, calibration, quantization-aware training, saving and loading.

The names below are imported when they are first used: a recipe, and words decided from statistics, need no torch.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mfsim.quant.decoding import decoder_step
    from mfsim.quant.finetune import finetune
    from mfsim.quant.fold import fold
    from mfsim.quant.quantize import quantize
    from mfsim.quant.recipe import LayerRecipe, Recipe
    from mfsim.quant.store import load, save
    from mfsim.quant.transforms import QuantizedNetwork

_HOME = {
    "LayerRecipe": "recipe",
    "QuantizedNetwork": "transforms",
    "Recipe": "recipe",
    "decoder_step": "decoding",
    "finetune": "finetune",
    "fold": "fold",
    "load": "store",
    "quantize": "quantize",
    "save": "store",
}

__all__ = ["LayerRecipe", "QuantizedNetwork", "Recipe", "decoder_step", "finetune", "fold", "load", "quantize", "save"]


class _Package(types.ModuleType):
    """A package in which `fold` is the function, even once the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOME or not isinstance(value, types.ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module `mfsim.quant` has no attribute `{name}`")
    value = getattr(importlib.import_module(f"mfsim.quant.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
