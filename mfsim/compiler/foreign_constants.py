"""What quantizers of other people's files make of constants: QuantizeLinear, DequantizeLinear, BipolarQuant.

Also `linear_quantizer_of`, which reads scale and zero point of a Quantize- or DequantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, helper

from mfsim.compiler.graph import FileNode
from mfsim.compiler.grid import Grid, parts_of
from mfsim.compiler.quantizer import Quantizer, linear_quantizer
from mfsim.errors import UnsupportedOpError
from mfsim.formats import Format

STANDARD = ("QuantizeLinear", "DequantizeLinear")
Constant = np.ndarray | Grid


def is_foreign_constant(node: FileNode, inputs: Sequence[Constant | None]) -> bool:
    """Whether `node` quantizes or dequantizes a plain constant, with constant parameters."""
    known = node.op in STANDARD if node.domain == "" else node.op == "BipolarQuant"
    return known and bool(inputs) and isinstance(inputs[0], np.ndarray)


def linear_quantizer_of(
    node: FileNode, scale: np.ndarray, zero_point: np.ndarray | None, stored: np.dtype | None, rank: int
) -> Quantizer:
    """Return the quantizer of a QuantizeLinear or DequantizeLinear of values of `rank` axes.

    Without a zero point the word is that of the type `stored`, or else of the attribute `output_dtype`.
    """
    if node.integer("block_size", 0):
        raise UnsupportedOpError("`block_size` must be 0; quantize per tensor or per channel")
    if zero_point is None:
        kind = node.integer("output_dtype", 0) or TensorProto.UINT8
        zero_point = np.zeros(scale.shape, dtype=stored or helper.tensor_dtype_to_np_dtype(kind))
    return linear_quantizer(scale, zero_point, node.integer("axis", 1), rank)


def of_constant(node: FileNode, inputs: Sequence[Constant | None]) -> Constant:
    """Return stored codes (QuantizeLinear) or quantized values of constant `inputs`."""
    values, scale, zero_point = (_array(value) for value in (*inputs, None)[:3])
    assert values is not None
    if scale is None:
        raise UnsupportedOpError("the scale is missing")
    if node.op == "BipolarQuant":
        exponents, factors = (
            None if part is None else np.array(np.broadcast_to(part, values.shape))
            for part in parts_of(scale, "the scale")
        )
        assert exponents is not None
        return Grid(np.where(values >= 0, 1, -1), exponents, Format(2), factors)
    if node.op == "QuantizeLinear":
        quantizer = linear_quantizer_of(node, scale, zero_point, None, values.ndim)
        offset = quantizer.spread(quantizer.zero_point, values.shape)
        kind = np.int64 if zero_point is None else zero_point.dtype
        return np.asarray((quantizer.of_constant(values).codes + offset).astype(kind))
    quantizer = linear_quantizer_of(node, scale, zero_point, values.dtype, values.ndim)
    codes = values.astype(np.int64) - quantizer.spread(quantizer.zero_point, values.shape)
    factors = None if quantizer.factors is None else quantizer.spread(quantizer.factors, values.shape)
    return Grid(codes, quantizer.spread(quantizer.exponents, values.shape), quantizer.word(codes), factors)


def _array(value: Constant | None) -> np.ndarray | None:
    return value.values() if isinstance(value, Grid) else value
