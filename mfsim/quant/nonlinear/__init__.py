"""Quantized nonlinear layers: integer algorithms between two grids, one family per file.

A layer class here derives from `QuantNonlinear`; an entry in `NONLINEAR` is what makes `quantize` put it in
the place of a float layer.
"""

from __future__ import annotations

from torch import nn

from mfsim.quant.nonlinear.base import QuantNonlinear
from mfsim.quant.nonlinear.table import QuantTable

__all__ = ["NONLINEAR", "QuantNonlinear", "QuantTable"]

NONLINEAR: dict[type[nn.Module], type[QuantNonlinear]] = {
    nn.GELU: QuantTable,
    nn.SiLU: QuantTable,
    nn.Tanh: QuantTable,
}
"""The quantized layer for each nonlinear layer."""
