"""How layers of mfsim are counted: as the op of the integer program that each becomes.

What torch executes for them is another thing: a transform is a product with a matrix of signs, an MF
product two dense ones. A layer without a rule here is counted by the operations of torch inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim import nn as layers
from mfsim.errors import ShapeError, UnsupportedOpError
from mfsim.nn.filterbank import filters
from mfsim.nn.wht import fit_lengths
from mfsim.op_counter.functions import (
    cosine_rows,
    filterbank_rows,
    magnitude_rows,
    norm_rows,
    shift_norm_rows,
    softmax_rows,
    tanh_l1_rows,
)
from mfsim.op_counter.products import product
from mfsim.op_counter.sized import Sized, bits_of, count_op, row, sized
from mfsim.op_counter.watch import Call, Rule
from mfsim.ops.dense.gram import OP as GRAM
from mfsim.ops.dense.matmul import OP as MATMUL
from mfsim.ops.distance.adder_conv2d import OP as ADDER_CONV2D
from mfsim.ops.distance.adder_matmul import OP as ADDER_MATMUL
from mfsim.ops.distance.min_conv2d import OP as MIN_CONV2D
from mfsim.ops.distance.min_matmul import OP as MIN_MATMUL
from mfsim.ops.elementwise.soft_threshold import OP as SOFT_THRESHOLD
from mfsim.ops.mf.mf_conv2d import OP as MF_CONV2D
from mfsim.ops.mf.mf_matmul import OP as MF_MATMUL
from mfsim.ops.mf.mf_mul import OP as MF_MUL
from mfsim.ops.op import Op, Row
from mfsim.ops.pool.sum_pool2d import OP as SUM_POOL2D
from mfsim.ops.power_of_two.shift_conv2d import OP as SHIFT_CONV2D
from mfsim.ops.power_of_two.shift_matmul import OP as SHIFT_MATMUL
from mfsim.ops.wht.wht import OP as WHT

LayerRule = Callable[[Any, Call], list[Row]]


def _activation(x: torch.Tensor) -> Sized:
    return sized((1, *x.shape), bits_of(x))


def _stored(x: torch.Tensor) -> Sized:
    return sized(x.shape, bits_of(x), constant=True)


def _bias(layer: nn.Module) -> list[Sized]:
    bias = layer.bias
    return [_stored(bias)] if isinstance(bias, torch.Tensor) else []


def _mf_options(layer: Any) -> dict[str, Any]:
    return {"form": layer.form, "sign_zero": layer.sign_zero, "grid": layer.grid}


def _no_options(layer: Any) -> dict[str, Any]:
    return {}


def _linear(op: Op, options: Callable[[Any], dict[str, Any]] = _no_options) -> LayerRule:
    def rule(layer: Any, call: Call) -> list[Row]:
        inputs = [_activation(call.arguments[0]), _stored(layer.weight.t()), *_bias(layer)]
        return count_op(op, inputs, (1, *call.y.shape), options(layer))

    return rule


def _conv2d(op: Op, options: Callable[[Any], dict[str, Any]] = _no_options) -> LayerRule:
    def rule(layer: Any, call: Call) -> list[Row]:
        x, y = call.arguments[0], call.y
        attributes = options(layer) | {
            "strides": layers.functional.pair("stride", layer.stride),
            "pads": layers.functional.four_pads(layer.padding),
            "dilations": layers.functional.pair("dilation", layer.dilation),
            "groups": layer.groups,
        }
        inputs = [sized((1, *x.shape[1:]), bits_of(x)), _stored(layer.weight), *_bias(layer)]
        return count_op(op, inputs, (1, y.shape[0] * y.shape[1], *y.shape[2:]), attributes)

    return rule


def _mat_mul(layer: Any, call: Call) -> list[Row]:
    a, b = call.arguments[:2]
    return product(call, a, b.transpose(-1, -2) if layer.transpose_b else b)


def _gram(layer: Any, call: Call) -> list[Row]:
    """Return the rows of one triangle of products of rows with each other; of all products with other rows."""
    a, b = (call.arguments * 2)[:2]
    if a is not b:
        return product(call, a, b.transpose(-1, -2))
    bits, (n, length) = bits_of(a), a.shape[-2:]
    sums = a.numel() // max(n * length, 1) * (n * (n + 1) // 2)
    by = call.source(a)
    return [
        replace(r, op=GRAM.name)
        for r in (row("mul", bits, sums * length, by), row("addsub", bits, sums * (length - 1)))
    ]


def _triangular_linear(layer: Any, call: Call) -> list[Row]:
    """Return the rows of a product with a triangle."""
    x, width = call.arguments[0], layer.width
    weights = sized((width, width), bits_of(x), constant=True)
    return count_op(MATMUL, [_activation(x), weights], (1, *x.shape), {"triangle": "lower"})


def _dft_magnitude(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    try:
        return list(magnitude_rows(_rows_of(x), bits_of(x), layer.form))
    except ShapeError as error:  # a length that the op does not take
        raise UnsupportedOpError(str(error)) from error


def _fast_dct(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return list(cosine_rows(_rows_of(x), bits_of(x), layer.form))


def _fft_filterbank(layer: Any, call: Call) -> list[Row]:
    """Return the rows of transforms and gains; the gains are those of an untrained fusion."""
    x, grid = call.arguments[0], layer.grid
    fused = filters(grid).mean(0)
    even = (fused + np.roll(fused[::-1, ::-1], (1, 1), (0, 1))) / 2
    codes = tuple(int(code) for code in np.rint(even * 2**9).reshape(-1))
    found = filterbank_rows(tuple(x.shape[-3:]), bits_of(x), grid, layer.form, codes)
    return [replace(r, count=r.count * x.shape[:-3].numel()) for r in found]


def _mf_mat_mul(layer: Any, call: Call) -> list[Row]:
    a, b = call.arguments[:2]
    right = b.transpose(-1, -2) if layer.transpose_b else b
    return count_op(MF_MATMUL, [_activation(a), _activation(right)], (1, *call.y.shape), _mf_options(layer))


def _mf_mul(layer: Any, call: Call) -> list[Row]:
    shape = call.y.shape
    pair = [_activation(x.expand(shape)) for x in call.arguments[:2]]
    return count_op(MF_MUL, pair, (1, *shape), _mf_options(layer))


def _wht(layer: Any, call: Call) -> list[Row]:
    y = call.y  # in front of it zeros may have been added
    lengths = tuple(int(n) for n in call.arguments[0].shape[-layer.dims :])
    block = layer.block or fit_lengths(lengths, layer.size)[1]
    attributes = {"block": block, "dims": layer.dims, "norm": layer.norm, "inverse": int(layer.inverse)}
    return count_op(WHT, [_activation(y)], (1, *y.shape), attributes)


def _soft_threshold(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return count_op(SOFT_THRESHOLD, [_activation(x), _stored(layer.weight)], (1, *x.shape))


def _shift(layer: Any, call: Call) -> list[Row]:
    return []


def _scaling(layer: Any, call: Call) -> list[Row]:
    return [] if layer.kind == "shift" else [row("mul", bits_of(call.y), call.y.numel(), "learned")]


def _shift_batch_norm(layer: Any, call: Call) -> list[Row]:
    """Return the offset; the gain 2**k relabels the scale."""
    return [row("addsub", bits_of(call.y), call.y.numel())]


def _sum_pool(layer: Any, call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    plane = (int(x.shape[-2]), int(x.shape[-1]))
    kernel = getattr(layer, "kernel_size", plane)
    attributes = {
        "kernel": kernel,
        "strides": getattr(layer, "stride", kernel),
        "pads": getattr(layer, "padding", (0,) * 4),
        "mean": 1,
    }
    channels = x.shape[0] * x.shape[1]
    return count_op(SUM_POOL2D, [sized((1, channels, *plane), bits_of(x))], (1, channels, *y.shape[2:]), attributes)


def _token_embedding(layer: Any, call: Call) -> list[Row]:
    return [row("addsub", bits_of(call.y), call.y.numel())]


def _affine(layer: Any, call: Call) -> list[Row]:
    """Return gains and offsets; a gain that is a power of two relabels the scale."""
    bits, n = bits_of(call.y), call.y.numel()
    gains = [] if layer.alpha is None else [row("mul", bits, n, "learned")]
    return [*gains, row("addsub", bits, n)]


def _rows_of(x: torch.Tensor) -> tuple[int, ...]:
    """Return the shape of x with all axes but the last two as one."""
    return (x.numel() // max(x.shape[-1] * x.shape[-2], 1), *x.shape[-2:]) if x.ndim > 1 else tuple(x.shape)


def _softmax(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return list(softmax_rows(_rows_of(x), bits_of(x), layer.form, layer.causal))


def _tanh_l1(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return list(tanh_l1_rows(_rows_of(x), bits_of(x), layer.form, layer.causal))


def _norm(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return list(norm_rows(_rows_of(x), bits_of(x), isinstance(layer, layers.LayerNorm), layer.form))


def _shift_norm(layer: Any, call: Call) -> list[Row]:
    x = call.arguments[0]
    return list(shift_norm_rows(_rows_of(x), bits_of(x), layer.kind))


LAYERS: dict[type[nn.Module], LayerRule] = {
    layers.MFLinear: _linear(MF_MATMUL, _mf_options),
    layers.MFConv2d: _conv2d(MF_CONV2D, _mf_options),
    layers.AdderLinear: _linear(ADDER_MATMUL),
    layers.AdderConv2d: _conv2d(ADDER_CONV2D),
    layers.MinLinear: _linear(MIN_MATMUL),
    layers.MinConv2d: _conv2d(MIN_CONV2D),
    layers.ShiftLinear: _linear(SHIFT_MATMUL),
    layers.ShiftConv2d: _conv2d(SHIFT_CONV2D),
    layers.Gram: _gram,
    layers.MatMul: _mat_mul,
    layers.MFMatMul: _mf_mat_mul,
    layers.MFMul: _mf_mul,
    layers.TriangularLinear: _triangular_linear,
    layers.DFTMagnitude: _dft_magnitude,
    layers.WHT: _wht,
    layers.SoftThreshold: _soft_threshold,
    layers.Shift: _shift,
    layers.Scaling: _scaling,
    layers.ShiftBatchNorm1d: _shift_batch_norm,
    layers.ShiftBatchNorm2d: _shift_batch_norm,
    layers.AvgPool2d: _sum_pool,
    layers.GlobalAvgPool2d: _sum_pool,
    layers.Affine: _affine,
    layers.TokenEmbedding: _token_embedding,
    layers.Softmax: _softmax,
    layers.TanhL1: _tanh_l1,
    layers.LayerNorm: _norm,
    layers.RMSNorm: _norm,
    layers.ShiftNorm: _shift_norm,
}
"""The rule of each layer of mfsim that torch executes in another way than a device."""


def layer_rule(layer: nn.Module) -> Rule | None:
    """Return the rule that counts a layer as a whole.

    Parameters
    ----------
    layer : torch.nn.Module

    Returns
    -------
    Rule or None
        None where the operations of torch inside it are counted.
    """
    rule = LAYERS.get(type(layer))
    if isinstance(layer, layers.DCT) and layer.form != "dense":
        rule = _fast_dct
    if isinstance(layer, layers.Filterbank) and layer.form != "product":
        rule = _fft_filterbank
    return None if rule is None else lambda call: rule(layer, call)
