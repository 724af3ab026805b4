"""Compiler rules of the elementwise ops."""

from __future__ import annotations

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.lower.grid import Grid, exact_grid
from mfsim.compiler.lower.lowering import FLOAT_TYPES, Lowering
from mfsim.compiler.lower.operands import along_axis, constant_beside, without_batch
from mfsim.compiler.lower.requantizing import rescaled
from mfsim.compiler.lower.rescaling import GUARD_BITS, change_scale, near_code, on_one_grid, with_offset
from mfsim.errors import FormatError, ModelError, UnsupportedOpError
from mfsim.ir.formats import Scale
from mfsim.ir.program import Tensor

# Relu, Neg, Abs, Sign: one op of the program each. Identity and casts between float types: nothing.

UNARY = {"Relu": ("relu", {}), "Neg": ("neg", {}), "Abs": ("abs", {}), "Sign": ("sign", {"sign_zero": 0})}


def _unary(lowering: Lowering, node: FileNode) -> None:
    """Emit the op and the attributes of `UNARY`."""
    op, attributes = UNARY[node.op]
    lowering.emit(node, op, [lowering.tensor(node, 0).name], attributes)


def _identity(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input."""
    lowering.alias(node, lowering.tensor(node, 0).name)


def _cast(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, if the type is a float one."""
    if node.integer("to", 0) not in FLOAT_TYPES:
        raise UnsupportedOpError("an activation can only be cast to a float type; a Quant says how it is rounded")
    _identity(lowering, node)


def _cast_like(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, a plain constant as float32: the type of every activation."""
    value = lowering.value(node, 0)
    if value is None:
        raise ModelError("the value is missing")
    like = lowering.value(node, 1)
    if isinstance(like, np.ndarray) and like.dtype.kind != "f":
        raise UnsupportedOpError("an activation can only be cast to a float type; a Quant says how it is rounded")
    lowering.alias(node, value.astype(np.float32) if isinstance(value, np.ndarray) else value)


def _dropout(lowering: Lowering, node: FileNode) -> None:
    """Let the output be the input, unless the node is told to train."""
    training = lowering.optional_array(node, 2, "the mode")
    if training is not None and training.any():
        raise UnsupportedOpError("`training_mode` must be false; export the model in eval mode")
    _identity(lowering, node)


ELEMENTWISE_THIRD_PARTY_RULES = {("", "Dropout"): _dropout}

ELEMENTWISE_RULES = {("", op): _unary for op in UNARY} | {
    ("", "Identity"): _identity,
    ("", "Cast"): _cast,
    ("", "CastLike"): _cast_like,
}


# Clip, and Max and Min with a constant: bounds that lie on the scale of x.


def _clip(lowering: Lowering, node: FileNode) -> None:
    """Clip; an end that is left out is the end of the proved range."""
    if node in lowering.clips:
        lowering.alias(node, lowering.values[node.inputs[0]])
        return
    x = lowering.tensor(node, 0)
    bounds = [lowering.optional_array(node, k + 1, f"`{what}`") for k, what in enumerate(("min", "max"))]
    _emit(lowering, node, x, bounds[0], bounds[1])


def _extreme(lowering: Lowering, node: FileNode) -> None:
    """Max and Min of an activation and one constant."""
    if len(node.inputs) != 2 or lowering.is_activation(node, 0) == lowering.is_activation(node, 1):
        raise UnsupportedOpError("one activation and one constant are needed")
    k = 0 if lowering.is_activation(node, 0) else 1
    bound = lowering.array(node, 1 - k, "the bound")
    lo, hi = (bound, None) if node.op == "Max" else (None, bound)
    _emit(lowering, node, lowering.tensor(node, k), lo, hi)


def _emit(lowering: Lowering, node: FileNode, x: Tensor, lo: np.ndarray | None, hi: np.ndarray | None) -> None:
    if x.scale.axis is not None and not lowering.strict:
        finest = Scale.of_steps([min(x.scale.steps)]).moved(-GUARD_BITS)
        x = lowering.builder.tensors[rescaled(lowering, node, x, finest)]
    codes = {"lo": x.range.low, "hi": x.range.high}
    for name, bound in (("lo", lo), ("hi", hi)):
        if bound is None:
            continue
        if bound.size != 1:
            raise UnsupportedOpError(f"a bound must be one number, not of the shape {bound.shape}")
        if not lowering.strict:
            codes[name] = near_code(lowering, node, x, bound, "a bound")
            continue
        try:
            codes[name] = int(exact_grid(bound, x.scale.exponent).codes.reshape(-1)[0])
        except FormatError as error:
            raise FormatError(f"a bound must lie on the scale of x: {error}") from error
    if lo is None:
        codes["lo"] = min(codes.values())
    if hi is None:
        codes["hi"] = max(codes.values())
    lowering.emit(node, "clip", [x.name], codes)


CLIP_RULES = {("", "Clip"): _clip, ("", "Max"): _extreme, ("", "Min"): _extreme}


# Add, Sub of two activations, or of an activation and a constant; the op aligns the scales.
#
# A constant without a Quant must lie on the scale of the activation; in a third-party file it is rounded to a
# finer grid, and so is an activation whose scale is no power of two away from the other. (An Add right behind a product is
# the product's bias: mfsim/compiler/lower/products.py.)


def _add(lowering: Lowering, node: FileNode) -> None:
    """Add and Sub; constant - x is -x + constant."""
    op = node.op.lower()
    if lowering.is_activation(node, 0) and lowering.is_activation(node, 1):
        pair = on_one_grid(lowering, node, [lowering.tensor(node, 0), lowering.tensor(node, 1)])
        lowering.emit(node, op, [tensor.name for tensor in pair])
        return
    k = 0 if lowering.is_activation(node, 0) else 1
    x = lowering.tensor(node, k)
    if not lowering.strict:
        _third_party(lowering, node, k, x)
        return
    constant = constant_beside(lowering, node, 1 - k, x)
    if op == "sub" and k == 1:
        lowering.emit(node, "add", [lowering.inner(node, "neg", [x.name]), constant])
    else:
        lowering.emit(node, op, [x.name, constant])


def _third_party(lowering: Lowering, node: FileNode, k: int, x: Tensor) -> None:
    """Add or subtract any constant."""
    values = without_batch(lowering.array(node, 1 - k, "the constant"), x.shape, f"the constant `{node.inputs[1 - k]}`")
    if node.op == "Sub" and k == 1:
        x = lowering.builder.tensors[lowering.inner(node, "neg", [x.name])]
    with_offset(
        lowering,
        node,
        x,
        values,
        f"the constant `{node.inputs[1 - k]}`",
        "sub" if node.op == "Sub" and k == 0 else "add",
    )


ADD_RULES = {("", "Add"): _add, ("", "Sub"): _add}


# Mul: the element-wise product of two activations, or of one and a quantized constant; else a change of scale.


def _mul(lowering: Lowering, node: FileNode) -> None:
    """Emit mul, or the rule of `Shift` for constants that no Quant has touched, and in third-party files for all."""
    k = 0 if lowering.is_activation(node, 0) else 1
    if lowering.is_activation(node, 1 - k):
        lowering.emit(node, "mul", [lowering.tensor(node, 0).name, lowering.tensor(node, 1).name])
    elif lowering.strict and isinstance(lowering.value(node, 1 - k), Grid):
        x, kind = lowering.tensor(node, k), lowering.grid(node, 1 - k, "the constant").constant
        lowering.emit(node, "mul", [x.name, constant_beside(lowering, node, 1 - k, x)], {"constant": kind})
    else:
        change_scale(lowering, node)


MUL_RULES = {("", "Mul"): _mul}


# SoftThreshold: the threshold is a constant on the scale of x, one or one for each index of one axis.


def _soft_threshold(lowering: Lowering, node: FileNode) -> None:
    """Emit soft_threshold with the codes of the threshold."""
    x = lowering.tensor(node, 0)
    values, axis = along_axis(lowering.array(node, 1, "the threshold"), x.shape, "the threshold")
    if (values < 0).any():
        raise FormatError(f"the threshold must be at least 0, not {float(values.min())!r}")
    scale = x.scale
    if scale.axis is not None and axis != scale.axis:
        raise FormatError(f"the threshold must run along axis {scale.axis}, as the scale of x does; requantize x first")
    exponents = np.array(scale.along(len(values)))
    codes = lowering.on_grid(
        node, 1, exponents.reshape(lowering.array(node, 1, "the threshold").shape), "the threshold"
    )
    t = lowering.constant(node.inputs[1], codes.reshape(-1), Scale(scale.exponents, None if scale.axis is None else 0))
    lowering.emit(node, "soft_threshold", [x.name, t], {"axis": axis})


SOFT_THRESHOLD_RULES = {("org.mfsim", "SoftThreshold"): _soft_threshold}

RULES = ELEMENTWISE_RULES | CLIP_RULES | ADD_RULES | MUL_RULES | SOFT_THRESHOLD_RULES

THIRD_PARTY_RULES = ELEMENTWISE_THIRD_PARTY_RULES
