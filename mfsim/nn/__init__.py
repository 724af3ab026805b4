"""Torch layers of multiplication-free networks; `functional` has the operations, `models` whole networks."""

from __future__ import annotations

from mfsim.nn import functional
from mfsim.nn.abs import Abs
from mfsim.nn.add import Add
from mfsim.nn.adder import AdderConv2d, AdderLinear
from mfsim.nn.affine import Affine
from mfsim.nn.cached_rows import CachedRows
from mfsim.nn.csd_gain import CsdGain
from mfsim.nn.dct import DCT
from mfsim.nn.dft_magnitude import DFTMagnitude
from mfsim.nn.filterbank import Filterbank
from mfsim.nn.gram import Gram
from mfsim.nn.mat_mul import MatMul, MFMatMul
from mfsim.nn.mf_conv2d import MFConv2d
from mfsim.nn.mf_matmul import MFLinear
from mfsim.nn.mf_mul import MFMul
from mfsim.nn.mul import Mul
from mfsim.nn.norms import LayerNorm, RMSNorm, ShiftNorm
from mfsim.nn.rope import Rope
from mfsim.nn.scaling import Scaling
from mfsim.nn.shift import Shift
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.shift_weights import ShiftConv2d, ShiftLinear
from mfsim.nn.signed_min import MinConv2d, MinLinear
from mfsim.nn.smooth_threshold import SmoothThreshold
from mfsim.nn.soft_threshold import SoftThreshold
from mfsim.nn.softmax import Softmax
from mfsim.nn.sum_pool2d import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.tanh_l1 import TanhL1
from mfsim.nn.token_embedding import TokenEmbedding
from mfsim.nn.triangular_linear import TriangularLinear
from mfsim.nn.wht import WHT
from mfsim.nn.wht_layer import WHTLayer

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
