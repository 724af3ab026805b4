"""Torch layers of multiplication-free networks; `functional` has the operations, `models` whole networks."""

from __future__ import annotations

from mfsim.keywords import check_constructor
from mfsim.nn import functional
from mfsim.nn.elementwise import Abs, Add, Mul
from mfsim.nn.family import AdderConv2d, AdderLinear, MinConv2d, MinLinear, ShiftConv2d, ShiftLinear
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.fourier import DCT, DFTMagnitude
from mfsim.nn.gains import Affine, CsdGain, Scaling, Shift
from mfsim.nn.matrices import Gram, MatMul, MFMatMul, TriangularLinear
from mfsim.nn.mf import MFConv2d, MFLinear, MFMul
from mfsim.nn.norms import LayerNorm, RMSNorm, ShiftNorm
from mfsim.nn.pool import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.softmax import Softmax, TanhL1
from mfsim.nn.thresholds import SmoothThreshold, SoftThreshold
from mfsim.nn.tokens import CachedRows, Rope, TokenEmbedding
from mfsim.nn.wht import WHT, WHTLayer

__all__ = [
    "DCT",
    "WHT",
    "Abs",
    "Add",
    "AdderConv2d",
    "AdderLinear",
    "Affine",
    "AvgPool2d",
    "CachedRows",
    "CsdGain",
    "DFTMagnitude",
    "Filterbank",
    "GlobalAvgPool2d",
    "Gram",
    "LayerNorm",
    "MFConv2d",
    "MFLinear",
    "MFMatMul",
    "MFMul",
    "MatMul",
    "MinConv2d",
    "MinLinear",
    "Mul",
    "RMSNorm",
    "Rope",
    "Scaling",
    "Shift",
    "ShiftBatchNorm1d",
    "ShiftBatchNorm2d",
    "ShiftConv2d",
    "ShiftLinear",
    "ShiftNorm",
    "SmoothThreshold",
    "SoftThreshold",
    "Softmax",
    "TanhL1",
    "TokenEmbedding",
    "TriangularLinear",
    "WHTLayer",
    "functional",
]

for _layer in [globals()[name] for name in __all__ if name != "functional"]:
    check_constructor(_layer)
