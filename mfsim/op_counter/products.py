"""How products, convolutions, pools, softmax and layer norm of torch are counted: as the op that a quantized network has."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch

from mfsim.errors import UnsupportedOpError
from mfsim.op_counter.functions import norm_rows, softmax_rows
from mfsim.op_counter.sized import bits_of, count_op, factor_rows, row, sized
from mfsim.op_counter.watch import SOURCES, Call, Rule
from mfsim.ops.dense.conv2d import OP as CONV2D
from mfsim.ops.dense.matmul import OP as MATMUL
from mfsim.ops.op import Row
from mfsim.ops.pool.max_pool2d import OP as MAX_POOL2D
from mfsim.ops.pool.sum_pool2d import OP as SUM_POOL2D


def product(call: Call, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> list[Row]:
    """Return the rows of a matrix product, of which one or no operand may be constant.

    Parameters
    ----------
    call : Call
        The operation; it says where the operands come from.
    x : tensor, shape [..., M, K]
    w : tensor, shape [..., K, O]
    bias : tensor, shape [O], or None
        Added where one operand is constant.

    Returns
    -------
    list of Row
    """
    first, second = call.source(x), call.source(w)
    if first == second == "activation":
        return _dynamic(x, w)
    if first != "activation":  # the transposed product, with the constant behind
        x, w = w.transpose(-1, -2), x.transpose(-1, -2)
    rows, bits = x.numel() // max(x.shape[-1], 1), bits_of(x)
    inputs = [sized((1, rows, x.shape[-1]), bits), sized(w.shape[-2:], bits, constant=True)]
    if bias is not None:
        inputs.append(sized((w.shape[-1],), bits, constant=True))
    by = min(first, second, key=SOURCES.index)
    counted = count_op(MATMUL, inputs, (1, rows, w.shape[-1]))
    return [replace(r, multiplied_by=by) if r.multiplied_by else r for r in counted]


def _dynamic(x: torch.Tensor, w: torch.Tensor) -> list[Row]:
    bits, matrices = bits_of(x), x.numel() // max(x.shape[-2] * x.shape[-1], 1)
    pair = [sized((1, matrices, *x.shape[-2:]), bits), sized((1, matrices, *w.shape[-2:]), bits)]
    return count_op(MATMUL, pair, (1, matrices, x.shape[-2], w.shape[-1]))


def _mm(call: Call) -> list[Row]:
    return product(call, call.arguments[0], call.arguments[1])


def _addmm(call: Call) -> list[Row]:
    bias, x, w = call.arguments[:3]
    return product(call, x, w, bias)


def _attention(call: Call) -> list[Row]:
    """Return the rows of softmax(scale q k^T) v; of a causal mask nothing is saved in the two products."""
    q, k, v = call.arguments[:3]
    causal = bool(call.arguments[4]) if len(call.arguments) > 4 else False
    scores, bits = (*q.shape[:-1], k.shape[-2]), bits_of(q)
    count = math.prod(scores)
    pairs = [sized((1, *shape), bits) for shape in (q.shape, k.transpose(-1, -2).shape, scores, v.shape)]
    return [
        *count_op(MATMUL, pairs[:2], (1, *scores)),
        *factor_rows(call.options.get("scale") or q.shape[-1] ** -0.5, bits, count),
        *softmax_rows((count // scores[-1] // scores[-2], *scores[-2:]), bits, causal=causal),
        *count_op(MATMUL, pairs[2:], (1, *scores[:-1], v.shape[-1])),
    ]


def _convolution(call: Call) -> list[Row]:
    x, w, bias, stride, padding, dilation, transposed, _, groups = call.arguments[:9]
    if transposed or w.ndim not in (3, 4):
        raise UnsupportedOpError("only convolutions in one and two dimensions, not transposed, are counted")
    one = w.ndim == 3

    def plane(shape: Any) -> tuple[int, ...]:
        return (*shape[:2], 1, shape[2]) if one else tuple(shape)

    def pair(value: Any, missing: int) -> tuple[int, ...]:
        return (missing, *value) if one else tuple(value)

    pads = pair(padding, 0)
    attributes: dict[str, Any] = {
        "strides": pair(stride, 1),
        "pads": (*pads, *pads),
        "dilations": pair(dilation, 1),
        "groups": int(groups),
    }
    bits = bits_of(x)
    inputs = [sized((1, *plane(x.shape)[1:]), bits), sized(plane(w.shape), bits, constant=True)]
    if bias is not None:
        inputs.append(sized(bias.shape, bits, constant=True))
    y = plane(call.y.shape)
    return count_op(CONV2D, inputs, (1, y[0] * y[1], *y[2:]), attributes)


def _last_axis(call: Call, what: str, axis: int) -> tuple[int, ...]:
    shape = tuple(call.arguments[0].shape)
    if axis not in (-1, len(shape) - 1):
        raise UnsupportedOpError(f"{what} is counted over the last axis only, not over axis {axis} of {shape}")
    return (call.arguments[0].numel() // max(shape[-1], 1), shape[-1])


def _softmax(call: Call) -> list[Row]:
    return list(softmax_rows(_last_axis(call, "a softmax", call.arguments[1]), bits_of(call.arguments[0])))


def _layer_norm(call: Call) -> list[Row]:
    x, normalised = call.arguments[:2]
    if len(normalised) != 1:
        raise UnsupportedOpError(f"a layer norm is counted over the last axis only, not over {len(normalised)} axes")
    return list(norm_rows(_last_axis(call, "a layer norm", -1), bits_of(x), centred=True))


def _total(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    return [row("addsub", bits_of(x), x.numel() - y.numel())]


def _mean(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    return [*_total(call), *factor_rows(y.numel() / max(x.numel(), 1), bits_of(x), y.numel())]


def _pool_attributes(call: Call) -> dict[str, Any]:
    """Return kernel, strides and pads of a pooling call."""
    _, kernel, stride, padding = (*call.arguments, *[()] * 4)[:4]
    kernel, pads = tuple(kernel) * (3 - len(kernel)), tuple(padding or (0, 0))
    pads = pads * (3 - len(pads))
    strides = tuple(stride or kernel)
    return {"kernel": kernel, "strides": strides * (3 - len(strides)), "pads": (*pads, *pads)}


def _max_pool(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    shape = (1, x.numel() // max(x.shape[-1] * x.shape[-2], 1), *x.shape[-2:])
    return count_op(MAX_POOL2D, [sized(shape, bits_of(x))], (1, shape[1], *y.shape[-2:]), _pool_attributes(call))


def _avg_pool(call: Call) -> list[Row]:
    x, y, attributes = call.arguments[0], call.y, _pool_attributes(call)
    shape = (1, x.numel() // max(x.shape[-1] * x.shape[-2], 1), *x.shape[-2:])
    output = (1, shape[1], *y.shape[-2:])
    area = attributes["kernel"][0] * attributes["kernel"][1]
    return [
        *count_op(SUM_POOL2D, [sized(shape, bits_of(x))], output, {**attributes, "mean": 0}),
        *factor_rows(1 / area, bits_of(x), y.numel()),
    ]


def _adaptive_pool(call: Call) -> list[Row]:
    if math.prod(call.y.shape[-2:]) != 1:
        raise UnsupportedOpError("of adaptive pools only the global one is counted")
    return _mean(call)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("mm", "bmm"), _mm),
    **dict.fromkeys(("addmm", "baddbmm"), _addmm),
    "convolution": _convolution,
    "sum": _total,
    "mean": _mean,
    "max_pool2d_with_indices": _max_pool,
    "avg_pool2d": _avg_pool,
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_avg_pool2d"), _adaptive_pool),
    "_softmax": _softmax,
    "native_layer_norm": _layer_norm,
    **dict.fromkeys(("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math"), _attention),
}
"""The rule of each of these ATen operations."""
