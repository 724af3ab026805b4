"""Third-party files, brought into the form that the rules know: domains, old opsets, channels-last wrappers, constants behind quantizers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

from mfsim.compiler.frontend.checks import OPSETS, QONNX
from mfsim.compiler.frontend.checks import STANDARD as STANDARD_DOMAIN
from mfsim.compiler.frontend.graph import FileNode
from mfsim.compiler.frontend.quantizer import Quantizer, linear_quantizer
from mfsim.compiler.lower.grid import Grid, parts_of
from mfsim.errors import ModelError, UnsupportedOpError
from mfsim.ir.formats import Format

# Third-party files, brought into the form that the rules know: names of domains, old opsets, channels-last wrappers.
#
# Nothing is approximated here; the result is an ONNX model that computes the same.

ALIASES = {"onnx.brevitas": QONNX, "finn.custom_op.general": QONNX, "ai.onnx": STANDARD_DOMAIN}
"""Older names of domains."""

CHANNELS_LAST = "qonnx.custom_op.channels_last"

TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def normalised(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of a third-party model with today's domains and opset and without channels-last wrappers.

    Parameters
    ----------
    model : onnx.ModelProto
        Model outside the dialect; it stays as it is.

    Returns
    -------
    onnx.ModelProto
        The changed copy.

    Raises
    ------
    ModelError
        If the opset is older than 13 and cannot be converted.
    UnsupportedOpError
        If a channels-last wrapper holds an op that has none.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _rename(made)
    _open_wrappers(made)
    return at_least(made, OPSETS[0])


def at_least(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """Return the model, converted to the standard opset `version` if it is older.

    Parameters
    ----------
    model : onnx.ModelProto
        Model.
    version : int
        Wanted version of the standard opset.

    Returns
    -------
    onnx.ModelProto
        `model` itself if it is not older.

    Raises
    ------
    ModelError
        If it cannot be converted.
    """
    have = next((entry.version for entry in model.opset_import if entry.domain == STANDARD_DOMAIN), version)
    if have >= version:
        return model
    try:
        return version_converter.convert_version(model, version)
    except Exception as error:  # the converter raises whatever its C++ code throws
        raise ModelError(
            f"the standard opset is of version {have} and cannot be converted to {version}: {str(error).splitlines()[0]}"
        ) from error


def _rename(model: onnx.ModelProto) -> None:
    for thing in (*model.opset_import, *model.graph.node):
        thing.domain = ALIASES.get(thing.domain, thing.domain)
    kept: dict[str, int] = {}
    for entry in model.opset_import:
        kept[entry.domain] = max(kept.get(entry.domain, 0), entry.version)
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in kept.items())


def _open_wrappers(model: onnx.ModelProto) -> None:
    """Replace each channels-last node by the standard op between transpositions."""
    if not any(node.domain == CHANNELS_LAST for node in model.graph.node):
        return
    nodes = [made for node in model.graph.node for made in _opened(model, node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _opened(model: onnx.ModelProto, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    if node.domain != CHANNELS_LAST:
        yield node
        return
    if node.op_type == "BatchNormalization":
        yield from _batch_norm(model, node)
        return
    if node.op_type not in ("Conv", "MaxPool"):
        raise UnsupportedOpError(
            f"node `{node.name}` ({node.domain}::{node.op_type}) has no rule; write it with channels first"
        )
    made = onnx.NodeProto()
    made.CopyFrom(node)
    made.domain = STANDARD_DOMAIN
    for k in range(2 if node.op_type == "Conv" else 1):
        made.input[k] = f"{node.output[0]}.first{k}"
        yield helper.make_node("Transpose", [node.input[k]], [made.input[k]], f"{node.name}.first{k}", perm=TO_FIRST)
    made.output[0] = f"{node.output[0]}.first"
    yield made
    yield helper.make_node("Transpose", [made.output[0]], [node.output[0]], f"{node.name}.last", perm=TO_LAST)


def _batch_norm(model: onnx.ModelProto, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """Yield a batch norm over the last axis as a gain and an offset."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    missing = [name for name in node.input[1:] if name not in constants]
    if missing:
        raise UnsupportedOpError(f"node `{node.name}` ({node.domain}::{node.op_type}): `{missing[0]}` must be constant")
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
    for part, values in zip(
        ("gain", "offset"), affine_of([constants[k] for k in node.input[1:]], epsilon), strict=True
    ):
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), f"{node.output[0]}.{part}"))
    inner = f"{node.output[0]}.gained"
    yield helper.make_node("Mul", [node.input[0], f"{node.output[0]}.gain"], [inner], f"{node.name}.gain")
    yield helper.make_node("Add", [inner, f"{node.output[0]}.offset"], [node.output[0]], f"{node.name}.offset")


def affine_of(parameters: list[np.ndarray], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gain and offset of a batch norm of (scale, bias, mean, variance), float64.

    Parameters
    ----------
    parameters : list of 4 arrays of real, shape (channels,)
        Scale, bias, mean and variance.
    epsilon : float
        Added to the variance.

    Returns
    -------
    (float64 array, float64 array), shape (channels,)
        Gain and offset.
    """
    scale, bias, mean, variance = (np.asarray(values, dtype=np.float64) for values in parameters)
    gain = scale / np.sqrt(variance + epsilon)
    return gain, bias - mean * gain


# What quantizers of other people's files make of constants: QuantizeLinear, DequantizeLinear, BipolarQuant.
#
# Also `linear_quantizer_of`, which reads scale and zero point of a Quantize- or DequantizeLinear.

STANDARD = ("QuantizeLinear", "DequantizeLinear")

Constant = np.ndarray | Grid


def is_third_party_constant(node: FileNode, inputs: Sequence[Constant | None]) -> bool:
    """Whether `node` quantizes or dequantizes a plain constant, with constant parameters.

    Parameters
    ----------
    node : FileNode
        Node of the file.
    inputs : sequence of (array, Grid or None)
        Its constant inputs; None for one that is left out.

    Returns
    -------
    bool
        True if it does.
    """
    known = node.op in STANDARD if node.domain == "" else node.op == "BipolarQuant"
    return known and bool(inputs) and isinstance(inputs[0], np.ndarray)


def linear_quantizer_of(
    node: FileNode, scale: np.ndarray, zero_point: np.ndarray | None, stored: np.dtype | None, rank: int
) -> Quantizer:
    """Return the quantizer of a QuantizeLinear or DequantizeLinear of values of `rank` axes.

    Without a zero point the word is that of the type `stored`, or else of the attribute `output_dtype`.

    Parameters
    ----------
    node : FileNode
        The node; its attributes are read.
    scale : array of real, at most one axis
        Steps, positive.
    zero_point : integer array or None
        Zero points; None where they are left out.
    stored : numpy.dtype or None
        Type of stored codes.
    rank : int
        Number of axes of the values.

    Returns
    -------
    Quantizer
        The quantizer.

    Raises
    ------
    UnsupportedOpError
        If a scale is one for each block, or the codes are no integers.
    FormatError
        If a step is not positive, or the word is too long.
    """
    if node.integer("block_size", 0):
        raise UnsupportedOpError("`block_size` must be 0; quantize per tensor or per channel")
    if zero_point is None:
        kind = node.integer("output_dtype", 0) or TensorProto.UINT8
        zero_point = np.zeros(scale.shape, dtype=stored or helper.tensor_dtype_to_np_dtype(kind))
    return linear_quantizer(scale, zero_point, node.integer("axis", 1), rank)


def of_constant(node: FileNode, inputs: Sequence[Constant | None]) -> Constant:
    """Return stored codes (QuantizeLinear) or quantized values of constant `inputs`.

    Parameters
    ----------
    node : FileNode
        Node of which `is_third_party_constant` holds.
    inputs : sequence of (array, Grid or None)
        Values, scale and zero point.

    Returns
    -------
    array or Grid
        Codes of a QuantizeLinear, in the type of the zero point; of other nodes a Grid.

    Raises
    ------
    UnsupportedOpError
        If the scale is missing, or not one that `linear_quantizer` knows.
    FormatError
        If a parameter is not what it must be.
    """
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
