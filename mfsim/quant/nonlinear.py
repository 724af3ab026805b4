"""Quantized nonlinear layers: integer algorithms between two grids, one family per file.

A layer class here derives from `QuantNonlinear`; an entry in `NONLINEAR` is what makes `quantize` put it in
the place of a float layer.
"""

from __future__ import annotations

from torch import nn

from mfsim.nn import DCT, DFTMagnitude, Filterbank, LayerNorm, RMSNorm, ShiftNorm, Softmax, TanhL1
from mfsim.ops.fourier.quant import QuantDFTMagnitude, QuantFastDCT, QuantFilterbankFFT
from mfsim.ops.lookup.quant import QuantTable
from mfsim.ops.norm.quant import QuantLayerNorm, QuantRMSNorm, QuantShiftNorm
from mfsim.ops.softmax.quant import QuantSoftmax, QuantTanhL1
from mfsim.quant.nonlinear_base import QuantNonlinear

__all__ = [
    "NONLINEAR",
    "QuantDFTMagnitude",
    "QuantFastDCT",
    "QuantFilterbankFFT",
    "QuantLayerNorm",
    "QuantNonlinear",
    "QuantRMSNorm",
    "QuantShiftNorm",
    "QuantSoftmax",
    "QuantTable",
    "QuantTanhL1",
]

NONLINEAR: dict[type[nn.Module], type[QuantNonlinear]] = {
    nn.GELU: QuantTable,
    nn.SiLU: QuantTable,
    nn.Tanh: QuantTable,
    DCT: QuantFastDCT,
    DFTMagnitude: QuantDFTMagnitude,
    Filterbank: QuantFilterbankFFT,
    LayerNorm: QuantLayerNorm,
    RMSNorm: QuantRMSNorm,
    ShiftNorm: QuantShiftNorm,
    Softmax: QuantSoftmax,
    TanhL1: QuantTanhL1,
}
"""The quantized layer for each nonlinear layer, and for a cosine transform or filterbank that is no matrix product."""
