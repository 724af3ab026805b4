"""How operations of torch are counted, by name of the ATen operation.

Products, convolutions, pools, transforms, norms and nonlinear functions take the count of the op of
the integer program that a quantized network has in their place; element-wise arithmetic is one
primitive for each element of the result. A function of one value is one look-up. A factor that is
a power of two is a shift, and +1 and -1 are free.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from mfsim.errors import UnsupportedOpError
from mfsim.ops.op import Row
from mfsim.shapes.sized import count_op, sized
from mfsim.shapes.watch import SOURCES, Call, Rule

FREE = frozenset(
    [
        "_reshape_alias",
        "_to_copy",
        "_unsafe_view",
        "alias",
        "arange",
        "as_strided",
        "cat",
        "chunk",
        "clone",
        "constant_pad_nd",
        "contiguous",
        "copy",
        "copy_",
        "detach",
        "detach_",
        "diagonal",
        "empty",
        "empty_like",
        "expand",
        "fill_",
        "flatten",
        "flip",
        "full",
        "full_like",
        "gather",
        "index",
        "index_put",
        "index_select",
        "lift_fresh",
        "lift_fresh_copy",
        "new_empty",
        "new_full",
        "new_ones",
        "new_zeros",
        "normal_",
        "ones",
        "ones_like",
        "permute",
        "pixel_shuffle",
        "pixel_unshuffle",
        "rand",
        "randn",
        "repeat",
        "repeat_interleave",
        "reshape",
        "resize_",
        "roll",
        "scalar_tensor",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "stack",
        "t",
        "transpose",
        "tril",
        "triu",
        "unbind",
        "unfold",
        "unsqueeze",
        "uniform_",
        "view",
        "view_as_complex",
        "view_as_real",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
"""Operations that make constants or move data: nothing is computed."""


def bits_of(x: Any) -> int:
    """Return the width of a tensor's element type; bool is 1 bit."""
    if not isinstance(x, torch.Tensor) or x.dtype == torch.bool:
        return 1
    return x.element_size() * 8


def row(primitive: str, bits: int, count: int, by: str = "", operands: int = 2) -> Row:
    """Return `count` executions of a primitive on words of `bits` bits."""
    return Row("", "", "", primitive, (bits,) * operands, count, by)


def multiplied(call: Call, a: Any, b: Any) -> str:
    """Return the class of a multiplication: what the less variable operand is."""
    return min(call.source(a), call.source(b), key=SOURCES.index)


def product(call: Call, x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None = None) -> list[Row]:
    """Return the rows of x [..., M, K] times w [..., K, O], of which one or none may be constant."""
    if call.source(x) != "activation":  # the transposed product, with the constant behind
        x, w = w.transpose(-1, -2), x.transpose(-1, -2)
    rows = x.numel() // max(x.shape[-1], 1)
    y = (1, rows, w.shape[-1])
    bits = bits_of(x)
    if call.source(w) == "activation":
        return _dynamic(x, w)
    inputs = [sized((1, rows, x.shape[-1]), bits), sized(w.shape[-2:], bits, constant=True)]
    if bias is not None:
        inputs.append(sized((w.shape[-1],), bits, constant=True))
    counted = count_op("matmul", inputs, y)
    by = multiplied(call, x, w)
    return [Row(**{**vars(r), "multiplied_by": by if r.multiplied_by else ""}) for r in counted]


def _dynamic(x: torch.Tensor, w: torch.Tensor) -> list[Row]:
    bits, matrices = bits_of(x), x.numel() // max(x.shape[-2] * x.shape[-1], 1)
    pair = [sized((1, matrices, *x.shape[-2:]), bits), sized((1, matrices, *w.shape[-2:]), bits)]
    return count_op("matmul", pair, (1, matrices, x.shape[-2], w.shape[-1]))


def _mm(call: Call) -> list[Row]:
    return product(call, call.arguments[0], call.arguments[1])


def _addmm(call: Call) -> list[Row]:
    bias, x, w = call.arguments[:3]
    return product(call, x, w, bias)


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
    return count_op("conv2d", inputs, (1, y[0] * y[1], *y[2:]), attributes)


def factor_rows(value: float, bits: int, count: int) -> list[Row]:
    """Return the rows of multiplying `count` values by a number."""
    if abs(value) == 1:
        return []
    if value and math.isfinite(value) and abs(math.frexp(value)[0]) == 0.5:
        return [row("shift", bits, count, operands=1)]
    return [row("mul", bits, count, "fixed")]


def _mul(call: Call) -> list[Row]:
    a, b = call.arguments[:2]
    bits, n = bits_of(call.y), call.y.numel()
    for number in (a, b):
        if isinstance(number, (int, float)):
            return factor_rows(float(number), bits, n)
    return [row("mul", bits, n, multiplied(call, a, b))]


def _div(call: Call) -> list[Row]:
    b = call.arguments[1]
    bits, n = bits_of(call.y), call.y.numel()
    if isinstance(b, (int, float)) and b:
        return factor_rows(1 / float(b), bits, n)
    return [row("div", bits, n)]


def _sum(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    return [row("addsub", bits_of(x), x.numel() - y.numel())]


def _mean(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    return [*_sum(call), *factor_rows(y.numel() / max(x.numel(), 1), bits_of(x), y.numel())]


def _pow(call: Call) -> list[Row]:
    x, exponent = call.arguments[:2]
    if exponent != 2:
        raise UnsupportedOpError(f"of powers only the square is counted, not the exponent {exponent}")
    return [row("mul", bits_of(x), call.y.numel(), multiplied(call, x, x))]


def elementwise(*primitives: str, operands: int = 2) -> Rule:
    """Return the rule of one of each primitive for each element of the result."""
    return lambda call: [
        row(
            p,
            bits_of(call.arguments[0]),
            call.y.numel(),
            operands=1 if p in ("abs", "neg", "sign", "sqrt") else operands,
        )
        for p in primitives
    ]


def reduced(*primitives: str) -> Rule:
    """Return the rule of a reduction: one less than the elements that meet in each result."""
    return lambda call: [
        row(p, bits_of(call.arguments[0]), call.arguments[0].numel() - call.y.numel(), operands=1) for p in primitives
    ]


def function(call: Call) -> list[Row]:
    """Return one look-up for each element: a function of one value."""
    return [row("lut", bits_of(call.arguments[0]), call.y.numel())]


def _relu(call: Call) -> list[Row]:
    return count_op("relu", [sized((1, *call.y.shape), bits_of(call.y))], (1, *call.y.shape))


def _clamp(call: Call) -> list[Row]:
    ends = sum(end is not None for end in (*call.arguments[1:3], call.options.get("min"), call.options.get("max")))
    return [row(p, bits_of(call.y), call.y.numel() * ends, operands=1) for p in ("cmp", "select")]


def pool_attributes(call: Call) -> dict[str, Any]:
    """Return kernel, strides and pads of a pooling call."""
    _, kernel, stride, padding = (*call.arguments, *[()] * 4)[:4]
    kernel, pads = tuple(kernel) * (3 - len(kernel)), tuple(padding or (0, 0))
    pads = pads * (3 - len(pads))
    strides = tuple(stride or kernel)
    return {"kernel": kernel, "strides": strides * (3 - len(strides)), "pads": (*pads, *pads)}


def _max_pool(call: Call) -> list[Row]:
    x, y = call.arguments[0], call.y
    shape = (1, x.numel() // max(x.shape[-1] * x.shape[-2], 1), *x.shape[-2:])
    return count_op("max_pool2d", [sized(shape, bits_of(x))], (1, shape[1], *y.shape[-2:]), pool_attributes(call))


def _avg_pool(call: Call) -> list[Row]:
    x, y, attributes = call.arguments[0], call.y, pool_attributes(call)
    shape = (1, x.numel() // max(x.shape[-1] * x.shape[-2], 1), *x.shape[-2:])
    output = (1, shape[1], *y.shape[-2:])
    area = attributes["kernel"][0] * attributes["kernel"][1]
    return [
        *count_op("sum_pool2d", [sized(shape, bits_of(x))], output, {**attributes, "mean": 0}),
        *factor_rows(1 / area, bits_of(x), y.numel()),
    ]


def _adaptive_pool(call: Call) -> list[Row]:
    if math.prod(call.y.shape[-2:]) != 1:
        raise UnsupportedOpError("of adaptive pools only the global one is counted")
    return _mean(call)


def _batch_norm(call: Call) -> list[Row]:
    x = call.arguments[0]
    return [row("mul", bits_of(x), x.numel(), "learned"), row("addsub", bits_of(x), x.numel())]


def _embedding(call: Call) -> list[Row]:
    weight, places = call.arguments[:2]
    return [row("lut", bits_of(weight), places.numel())]


def _rsqrt(call: Call) -> list[Row]:
    bits, n = bits_of(call.y), call.y.numel()
    return [row("sqrt", bits, n, operands=1), row("div", bits, n)]


SUM, COMPARE, FUNCTION = elementwise("addsub"), elementwise("cmp"), function
RULES: dict[str, Rule] = {
    **dict.fromkeys(("mm", "bmm"), _mm),
    **dict.fromkeys(("addmm", "baddbmm"), _addmm),
    "convolution": _convolution,
    **dict.fromkeys(("add", "add_", "sub", "sub_", "rsub"), SUM),
    **dict.fromkeys(("mul", "mul_"), _mul),
    **dict.fromkeys(("div", "div_"), _div),
    "pow": _pow,
    "sum": _sum,
    "cumsum": SUM,
    "mean": _mean,
    **dict.fromkeys(("relu", "relu_", "threshold"), _relu),
    **dict.fromkeys(("clamp", "clamp_", "clamp_min", "clamp_max", "hardtanh", "hardtanh_"), _clamp),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isinf"), COMPARE),
    **dict.fromkeys(("maximum", "minimum"), elementwise("cmp", "select", operands=1)),
    **dict.fromkeys(("where", "masked_fill", "masked_fill_"), elementwise("select", operands=1)),
    **dict.fromkeys(("max", "min", "amax", "amin", "argmax", "argmin"), reduced("cmp", "select")),
    **{name: elementwise(name, operands=1) for name in ("abs", "neg")},
    **dict.fromkeys(("sign", "sgn"), elementwise("sign", operands=1)),
    **dict.fromkeys(
        [
            "gelu",
            "gelu_",
            "silu",
            "silu_",
            "sigmoid",
            "sigmoid_",
            "tanh",
            "tanh_",
            "exp",
            "exp_",
            "log",
            "sin",
            "cos",
            "erf",
            "elu",
            "softplus",
            "hardswish",
            "hardswish_",
            "hardsigmoid",
            "leaky_relu",
            "mish",
            "log_sigmoid_forward",
        ],
        FUNCTION,
    ),
    "sqrt": elementwise("sqrt", operands=1),
    "rsqrt": _rsqrt,
    "reciprocal": elementwise("div"),
    "max_pool2d_with_indices": _max_pool,
    "avg_pool2d": _avg_pool,
    **dict.fromkeys(("_adaptive_avg_pool2d", "adaptive_avg_pool2d"), _adaptive_pool),
    **dict.fromkeys(("_native_batch_norm_legit_no_training", "native_batch_norm", "cudnn_batch_norm"), _batch_norm),
    "embedding": _embedding,
}
"""The rule of each ATen operation."""
