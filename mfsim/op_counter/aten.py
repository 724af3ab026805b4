"""How operations of torch are counted, by name of the ATen operation.

Products, convolutions, pools, norms and softmax are counted by `mfsim/op_counter/products.py`; here is
element-wise arithmetic: one primitive for each element of the result. A function of one value is one
look-up. A factor that is a power of two is a shift, and +1 and -1 are free.
"""

from __future__ import annotations

from typing import Any

from mfsim.errors import UnsupportedOpError
from mfsim.op_counter import products
from mfsim.op_counter.sized import bits_of, count_op, factor_rows, row, sized
from mfsim.op_counter.watch import SOURCES, Call, Rule
from mfsim.ops.elementwise.relu import OP as RELU
from mfsim.ops.op import Row

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


def _multiplied(call: Call, a: Any, b: Any) -> str:
    """Return the class of a multiplication: what the less variable operand is."""
    return min(call.source(a), call.source(b), key=SOURCES.index)


def _mul(call: Call) -> list[Row]:
    a, b = call.arguments[:2]
    bits, n = bits_of(call.y), call.y.numel()
    for number in (a, b):
        if isinstance(number, (int, float)):
            return factor_rows(float(number), bits, n)
    return [row("mul", bits, n, _multiplied(call, a, b))]


def _div(call: Call) -> list[Row]:
    b = call.arguments[1]
    bits, n = bits_of(call.y), call.y.numel()
    if isinstance(b, (int, float)) and b:
        return factor_rows(1 / float(b), bits, n)
    return [row("div", bits, n)]


def _pow(call: Call) -> list[Row]:
    x, exponent = call.arguments[:2]
    if exponent != 2:
        raise UnsupportedOpError(f"of powers only the square is counted, not the exponent {exponent}")
    return [row("mul", bits_of(x), call.y.numel(), _multiplied(call, x, x))]


def _elementwise(*primitives: str, operands: int = 2) -> Rule:
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


def _reduced(*primitives: str) -> Rule:
    """Return the rule of a reduction: one less than the elements that meet in each result."""
    return lambda call: [
        row(p, bits_of(call.arguments[0]), call.arguments[0].numel() - call.y.numel(), operands=1) for p in primitives
    ]


def _function(call: Call) -> list[Row]:
    """Return one look-up for each element: a function of one value."""
    return [row("lut", bits_of(call.arguments[0]), call.y.numel())]


def _relu(call: Call) -> list[Row]:
    return count_op(RELU, [sized((1, *call.y.shape), bits_of(call.y))], (1, *call.y.shape))


def _clamp(call: Call) -> list[Row]:
    ends = sum(end is not None for end in (*call.arguments[1:3], call.options.get("min"), call.options.get("max")))
    return [row(p, bits_of(call.y), call.y.numel() * ends, operands=1) for p in ("cmp", "select")]


def _batch_norm(call: Call) -> list[Row]:
    x = call.arguments[0]
    return [row("mul", bits_of(x), x.numel(), "learned"), row("addsub", bits_of(x), x.numel())]


def _embedding(call: Call) -> list[Row]:
    weight, places = call.arguments[:2]
    return [row("lut", bits_of(weight), places.numel())]


def _rsqrt(call: Call) -> list[Row]:
    bits, n = bits_of(call.y), call.y.numel()
    return [row("sqrt", bits, n, operands=1), row("div", bits, n)]


SUM, COMPARE, FUNCTION = _elementwise("addsub"), _elementwise("cmp"), _function

RULES: dict[str, Rule] = {
    **products.RULES,
    **dict.fromkeys(("add", "add_", "sub", "sub_", "rsub"), SUM),
    **dict.fromkeys(("mul", "mul_"), _mul),
    **dict.fromkeys(("div", "div_"), _div),
    "pow": _pow,
    "cumsum": SUM,
    **dict.fromkeys(("relu", "relu_", "threshold"), _relu),
    **dict.fromkeys(("clamp", "clamp_", "clamp_min", "clamp_max", "hardtanh", "hardtanh_"), _clamp),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "isinf"), COMPARE),
    **dict.fromkeys(("maximum", "minimum"), _elementwise("cmp", "select", operands=1)),
    **dict.fromkeys(("where", "masked_fill", "masked_fill_"), _elementwise("select", operands=1)),
    **dict.fromkeys(("max", "min", "amax", "amin", "argmax", "argmin"), _reduced("cmp", "select")),
    **{name: _elementwise(name, operands=1) for name in ("abs", "neg")},
    **dict.fromkeys(("sign", "sgn"), _elementwise("sign", operands=1)),
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
    "sqrt": _elementwise("sqrt", operands=1),
    "rsqrt": _rsqrt,
    "reciprocal": _elementwise("div"),
    **dict.fromkeys(("_native_batch_norm_legit_no_training", "native_batch_norm", "cudnn_batch_norm"), _batch_norm),
    "embedding": _embedding,
}
"""The rule of each ATen operation."""
