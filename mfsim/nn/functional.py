"""The operations of `mfsim.ops` as differentiable torch functions.

In eager mode each is ordinary torch maths on float tensors. On values = codes * 2**e the result is
the integer result exactly, as long as every partial sum, in units of the finest grid, is at most
2**24 in float32 (2**53 in float64); in which order it is summed does not matter then. While
torch.onnx exports, each function leaves one node of the domain `org.mfsim` instead.

Gradients: `sign` inside the MF products is hard forward and tanh' backward (`mfsim/ops/mf/torch.py`);
everything else is plain autograd. `Accumulator` with `wrap` passes its gradient straight through.
`grid` says where an integer accumulator lies; it changes no real value and travels as an attribute.
"""

from __future__ import annotations

from mfsim.ops.elementwise.torch import soft_threshold
from mfsim.ops.grid.torch import accumulator, shift
from mfsim.ops.lookup.torch import table
from mfsim.ops.mf.torch import mf_attributes, mf_conv2d, mf_matmul, mf_mul
from mfsim.ops.pool.torch import sum_pool2d
from mfsim.ops.torch_node import (
    DOMAIN,
    OBSERVERS,
    check_area,
    emitted,
    exporting,
    four_pads,
    observed,
    pair,
    window_size,
    zero_pad,
)
from mfsim.ops.wht.torch import RADIX, wht

__all__ = [
    "DOMAIN",
    "OBSERVERS",
    "RADIX",
    "accumulator",
    "check_area",
    "emitted",
    "exporting",
    "four_pads",
    "mf_attributes",
    "mf_conv2d",
    "mf_matmul",
    "mf_mul",
    "observed",
    "pair",
    "shift",
    "soft_threshold",
    "sum_pool2d",
    "table",
    "wht",
    "window_size",
    "zero_pad",
]
