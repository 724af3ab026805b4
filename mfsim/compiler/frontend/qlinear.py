"""Operators of third-party integer files: QuantizeLinear, DequantizeLinear, QLinearConv, QLinearMatMul and their kin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.third_party import linear_quantizer_of
from mfsim.compiler.lower.grid import Grid
from mfsim.compiler.lower.lowering import Coded, Lowering
from mfsim.compiler.lower.product_rules import conv_rule, matmul_rule
from mfsim.compiler.lower.requantizing import clipped, requantized
from mfsim.errors import ModelError
from mfsim.ir.formats import Format, Scale
from mfsim.ops.dense.conv2d import OP as CONV2D
from mfsim.ops.dense.matmul import OP as MATMUL
from mfsim.ops.elementwise.sub import OP as SUB

# QuantizeLinear and DequantizeLinear: the integers between them are codes counted from their zero point.
#
# A DequantizeLinear right behind its QuantizeLinear costs nothing; one with another zero point subtracts
# the difference, and one with another scale relabels the grid.


def _quantize_linear(lowering: Lowering, node: FileNode) -> None:
    """Requantize, together with a Clip of the codes behind it."""
    if node in lowering.input_quants:
        value = lowering.values[node.inputs[0]]
        assert isinstance(value, str)
        lowering.alias(node, Coded(value, lowering.input_quants[node]))
        return
    x = lowering.tensor(node, 0)
    quantizer = clipped(lowering, node, lowering.linear(node, len(x.shape)))
    codes = requantized(lowering, node, x, quantizer, _dequantized_name(lowering, node))
    lowering.values[node.outputs[0]] = Coded(codes, quantizer.one_zero_point)


def _dequantized_name(lowering: Lowering, node: FileNode) -> str | None:
    """Return the value of the DequantizeLinear that alone reads the codes and undoes just this quantizer, or None."""
    name = node.outputs[0]
    while name not in lowering.graph.outputs:
        users = lowering.graph.consumers.get(name, ())
        if len(users) != 1:
            return None
        (user,) = users
        if user.op == "Clip" and user in lowering.clips:
            name = user.outputs[0]
        elif (user.domain, user.op) == ("", "DequantizeLinear") and _undoes(user, node):
            lowering.done.add(user)
            return user.outputs[0]
        else:
            return None
    return None


def _undoes(user: FileNode, node: FileNode) -> bool:
    same = user.inputs[1:] == node.inputs[1:] and len(node.inputs) == 3
    return same and user.integer("axis", 1) == node.integer("axis", 1)


def _dequantize_linear(lowering: Lowering, node: FileNode) -> None:
    """Count the codes from the zero point of the node and relabel their grid."""
    value = lowering.value(node, 0)
    x = lowering.builder.tensors[value.name] if isinstance(value, Coded) else lowering.tensor(node, 0)
    quantizer = lowering.linear(node, len(x.shape))
    name = _counted_from(lowering, node, 0, quantizer.one_zero_point)
    lowering.alias(node, lowering.relabelled(node, name, quantizer.scale_for(x.shape)))


def _counted_from(lowering: Lowering, node: FileNode, k: int, zero_point: int) -> str:
    """Return the tensor of the integers of input `k` minus a zero point, on whatever scale it has."""
    value = lowering.value(node, k)
    have = value.zero_point if isinstance(value, Coded) else 0
    name = value.name if isinstance(value, Coded) else lowering.tensor(node, k).name
    if have == zero_point:
        return name
    offset = np.array(zero_point - have, dtype=np.int64)
    scale = lowering.builder.tensors[name].scale
    return lowering.inner(node, SUB.name, [name, lowering.constant(f"{name}.zero_point", offset, scale)])


LINEAR_THIRD_PARTY_RULES = {("", "QuantizeLinear"): _quantize_linear, ("", "DequantizeLinear"): _dequantize_linear}

# QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger: products of stored integers, with zero points and scales.
#
# Each becomes the product of codes counted from their zero points; the QLinear ones then requantize to the
# stated scale and zero point, the others keep the accumulator.

PRODUCTS = {
    "QLinearConv": ("Conv", conv_rule(CONV2D.name)),
    "ConvInteger": ("Conv", conv_rule(CONV2D.name)),
    "QLinearMatMul": ("MatMul", matmul_rule(MATMUL.name)),
    "MatMulInteger": ("MatMul", matmul_rule(MATMUL.name)),
}


def _qlinear(lowering: Lowering, node: FileNode) -> None:
    """Multiply dequantized operands and quantize the sums again."""
    x = _operand(lowering, node, 0, (1, 2), 1)
    w = _operand(lowering, node, 3, (4, 5), 0 if node.op == "QLinearConv" else -1)
    names = [x, w]
    if node.op == "QLinearConv" and len(node.inputs) > 8 and node.inputs[8]:
        names.append(_bias(lowering, node))
    inner = _product(lowering, node, names)
    acc = lowering.builder.tensors[inner]
    scale, zero_point = lowering.array(node, 6, "the scale"), lowering.optional_array(node, 7, "the zero point")
    quantizer = linear_quantizer_of(node, scale, zero_point, None, len(acc.shape))
    lowering.alias(node, Coded(requantized(lowering, node, acc, quantizer, None), quantizer.one_zero_point))


def _integer_product(lowering: Lowering, node: FileNode) -> None:
    """Multiply integers minus their zero points; the sums lie on the scale 1."""
    x = _operand(lowering, node, 0, (None, 2), 1)
    w = _operand(lowering, node, 1, (None, 3), 0 if node.op == "ConvInteger" else -1)
    lowering.alias(node, _product(lowering, node, [x, w]))


def _product(lowering: Lowering, node: FileNode, names: list[str]) -> str:
    """Lower the float op on operands of the given names; return the tensor of the accumulator."""
    output = lowering.inner_name(node, "acc")
    op, rule = PRODUCTS[node.op]
    rule(lowering, replace(node, op=op, inputs=tuple(names), outputs=(output,)))
    value = lowering.values[output]
    assert isinstance(value, str)
    return value


def _operand(lowering: Lowering, node: FileNode, k: int, parameters: tuple[int | None, int], axis: int) -> str:
    """Give input `k`, dequantized by the inputs `parameters` (scale, zero point), a name of its own, and return it."""
    name = f"{node.outputs[0]}.operand{k}"
    value = lowering.value(node, k)
    scale_at, zero_at = parameters
    scale = np.float32(1) if scale_at is None else lowering.array(node, scale_at, "the scale")
    zero_point = lowering.optional_array(node, zero_at, "the zero point")
    at = replace(node, attributes={"axis": axis})
    if isinstance(value, np.ndarray):
        quantizer = linear_quantizer_of(at, np.asarray(scale), zero_point, value.dtype, value.ndim)
        codes = value.astype(np.int64) - quantizer.spread(quantizer.zero_point, value.shape)
        factors = None if quantizer.factors is None else quantizer.spread(quantizer.factors, value.shape)
        exponents = quantizer.spread(quantizer.exponents, value.shape)
        lowering.values[name] = Grid(codes, exponents, quantizer.word(codes), factors)
        return name
    if not isinstance(value, (str, Coded)):
        raise ModelError(f"input {k} must be integers, not {lowering.shown(node, k)}")
    x = lowering.builder.tensors[value if isinstance(value, str) else value.name]
    quantizer = linear_quantizer_of(at, np.asarray(scale), zero_point, None, len(x.shape))
    counted = _counted_from(lowering, node, k, quantizer.one_zero_point)
    lowering.values[name] = lowering.relabelled(node, counted, quantizer.scale_for(x.shape))
    return name


def _bias(lowering: Lowering, node: FileNode) -> str:
    """Give the integer bias, which lies on the grid of the accumulator, a name of its own, and return it."""
    name, codes = f"{node.outputs[0]}.bias", lowering.array(node, 8, "the bias").astype(np.int64)
    steps = lowering.array(node, 1, "the scale").astype(np.float64) * lowering.array(node, 4, "the scale").astype(
        np.float64
    )
    scale = Scale.of_steps([float(step) for step in np.broadcast_to(steps.reshape(-1), codes.shape)], 0)
    exponents = np.array(scale.along(codes.size), dtype=np.int64)
    factors = np.array([float(f) for f in scale.factors]) if scale.factors else None
    if factors is not None:
        factors = np.array(np.broadcast_to(factors, codes.shape))
    lo, hi = int(codes.min()), int(codes.max())
    lowering.values[name] = Grid(codes, exponents, Format.of_range(min(lo, -1), max(hi, 0)), factors)
    return name


QLINEAR_THIRD_PARTY_RULES = {("", op): _qlinear if op.startswith("QLinear") else _integer_product for op in PRODUCTS}

THIRD_PARTY_RULES = LINEAR_THIRD_PARTY_RULES | QLINEAR_THIRD_PARTY_RULES
