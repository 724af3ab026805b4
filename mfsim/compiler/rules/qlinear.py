"""QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger: products of stored integers, with zero points and scales.

Each becomes the product of codes counted from their zero points; the QLinear ones then requantize to the
stated scale and zero point, the others keep the accumulator.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfsim.compiler.foreign_constants import linear_quantizer_of
from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid
from mfsim.compiler.lowering import Coded, Lowering
from mfsim.compiler.requantizing import requantized
from mfsim.compiler.rules.conv import conv
from mfsim.compiler.rules.linear import counted_from
from mfsim.compiler.rules.matmul import matmul
from mfsim.errors import ModelError
from mfsim.formats import Format, Scale

PRODUCTS = {
    "QLinearConv": ("Conv", conv),
    "ConvInteger": ("Conv", conv),
    "QLinearMatMul": ("MatMul", matmul),
    "MatMulInteger": ("MatMul", matmul),
}


def qlinear(lowering: Lowering, node: FileNode) -> None:
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


def integer_product(lowering: Lowering, node: FileNode) -> None:
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
    counted = counted_from(lowering, node, k, quantizer.one_zero_point)
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


FOREIGN_RULES = {("", op): qlinear if op.startswith("QLinear") else integer_product for op in PRODUCTS}
