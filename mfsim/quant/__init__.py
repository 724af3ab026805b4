"""Quantize float networks: recipe, folding, calibration, quantization-aware training, saving and loading.

The names below are imported when they are first used: a recipe, and words decided from statistics, need no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mfsim.lazy import public

if TYPE_CHECKING:
    from mfsim.quant.decoding import decoder_step
    from mfsim.quant.finetune import finetune
    from mfsim.quant.fold import fold
    from mfsim.quant.network import QuantizedNetwork
    from mfsim.quant.quantize import quantize
    from mfsim.quant.recipe import LayerRecipe, Recipe
    from mfsim.quant.store import load, save

_HOME = {
    "LayerRecipe": "recipe",
    "QuantizedNetwork": "network",
    "Recipe": "recipe",
    "decoder_step": "decoding",
    "finetune": "finetune",
    "fold": "fold",
    "load": "store",
    "quantize": "quantize",
    "save": "store",
}

__all__ = ["LayerRecipe", "QuantizedNetwork", "Recipe", "decoder_step", "finetune", "fold", "load", "quantize", "save"]

__getattr__, __dir__ = public(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()})
