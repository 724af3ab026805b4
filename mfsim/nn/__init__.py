"""Torch layers of multiplication-free networks; `functional` has the operations, `models` whole networks."""

from __future__ import annotations

from mfsim.nn import functional
from mfsim.nn.add import Add
from mfsim.nn.mat_mul import MatMul, MFMatMul
from mfsim.nn.mf_conv2d import MFConv2d
from mfsim.nn.mf_matmul import MFLinear
from mfsim.nn.mul import Mul
from mfsim.nn.norms import LayerNorm, RMSNorm, ShiftNorm
from mfsim.nn.shift import Shift
from mfsim.nn.shift_batch_norm import ShiftBatchNorm1d, ShiftBatchNorm2d
from mfsim.nn.soft_threshold import SoftThreshold
from mfsim.nn.softmax import Softmax
from mfsim.nn.sum_pool2d import AvgPool2d, GlobalAvgPool2d
from mfsim.nn.tanh_l1 import TanhL1
from mfsim.nn.token_embedding import TokenEmbedding
from mfsim.nn.wht import WHT
from mfsim.nn.wht_layer import WHTLayer

__all__ = [
    "WHT",
    "Add",
    "AvgPool2d",
    "GlobalAvgPool2d",
    "LayerNorm",
    "MFConv2d",
    "MFLinear",
    "MFMatMul",
    "MatMul",
    "Mul",
    "RMSNorm",
    "Shift",
    "ShiftBatchNorm1d",
    "ShiftBatchNorm2d",
    "ShiftNorm",
    "SoftThreshold",
    "Softmax",
    "TanhL1",
    "TokenEmbedding",
    "WHTLayer",
    "functional",
]
