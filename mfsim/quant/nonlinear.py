"""Quantized nonlinear layers: integer algorithms between two grids, one family of ops per file.

A layer class derives from `QuantNonlinear`; an entry in the `LAYERS` of its family's `quant.py` is what makes `quantize`
put it in the place of a float layer.
"""

from __future__ import annotations

from torch import nn

from mfsim import ops
from mfsim.quant.nonlinear_base import QuantNonlinear


def _collect() -> dict[type[nn.Module], type[QuantNonlinear]]:
    layers: dict[type[nn.Module], type[QuantNonlinear]] = {}
    for module in ops.realisations("quant"):
        layers |= getattr(module, "LAYERS", {})
    return layers


NONLINEAR: dict[type[nn.Module], type[QuantNonlinear]] = _collect()
"""The quantized layer for each nonlinear layer, and for a cosine transform or filterbank that is no matrix product."""

BY_NAME = {kind.__name__: kind for kind in NONLINEAR.values()}
"""The quantized layers by the name of their class."""
