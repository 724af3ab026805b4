"""Quantize float networks: recipe, folding, calibration, quantization-aware training, saving and loading."""

from __future__ import annotations

from mfsim.quant.finetune import finetune
from mfsim.quant.fold import fold
from mfsim.quant.quantize import quantize
from mfsim.quant.recipe import LayerRecipe, Recipe
from mfsim.quant.store import load, save
from mfsim.quant.transforms import QuantizedNetwork

__all__ = ["LayerRecipe", "QuantizedNetwork", "Recipe", "finetune", "fold", "load", "quantize", "save"]
