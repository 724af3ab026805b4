"""What torch's and Brevitas' exporters lose in silence, each turned into one sentence.

1. The graph is empty (a quantized LSTM).
2. A quantizer was decomposed: a rounding op stands in the graph (packed attention).
3. A node reads a constant that no quantizer has touched.
4. A layer or a quantizer of the network left no node of its own.
5. A number is NaN or infinite, or a scale is no power of two.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper
from torch import nn

from mfsim import ops
from mfsim.errors import ExportError
from mfsim.ops.traits import DOMAIN
from mfsim.quant import QuantizedNetwork

ROUNDING_OPS = ("Round", "Floor", "Ceil", "QuantizeLinear", "DynamicQuantizeLinear")

STANDARD_PARAMETERS = {
    "Quant": (0, 1, 2, 3),
    "Clip": (1, 2),
    "Max": (0, 1),
    "Min": (0, 1),
    "Mul": (0, 1),
    "Div": (1,),
    "Pad": (1, 2, 3),
}
"""Inputs of ops from outside that may be constants which no quantizer has touched; of integer type, every input may.

The compiler, through which every quantized model goes, refuses gains that are no powers of two and
bounds beside the grid.
"""


def check_numbers(model: onnx.ModelProto) -> None:
    """Check that an exported graph is not empty and holds finite numbers only (1, 5).

    Parameters
    ----------
    model : onnx.ModelProto

    Raises
    ------
    ExportError
        If it is empty, or a tensor, which the message names, holds NaN or infinite values.
    """
    if not model.graph.node:
        raise ExportError("the exported graph is empty; the model has a layer that torch or Brevitas does not export")
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ExportError(f"`{tensor.name}` holds NaN or infinite values")


def check_quantized(model: onnx.ModelProto, module: nn.Module, layer_key: str) -> None:
    """Check that nothing was lost between a quantized network and its file (2, 3, 4, 5).

    Parameters
    ----------
    model : onnx.ModelProto
        With its names and metadata set.
    module : torch.nn.Module
        What it was exported from.
    layer_key : str
        Key of the metadata that names a node's layer.

    Raises
    ------
    ExportError
        If a quantizer was taken apart, a constant was not quantized, a layer or quantizer left no node, or a scale,
        zero point or bit width is none of the dialect.
    """
    floats = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    floats = {name: values for name, values in floats.items() if values.dtype.kind == "f"}
    layers: dict[str, set[str]] = {}
    for node in model.graph.node:
        layer = next((p.value for p in node.metadata_props if p.key == layer_key), "")
        layers.setdefault(layer, set()).add(node.op_type)
        shown = f"node `{node.name}` ({node.op_type}) of layer `{layer}`"
        if node.op_type in ROUNDING_OPS and not node.domain:
            raise ExportError(f"{shown} rounds outside a Quant: a quantizer was taken apart on export")
        for k, name in enumerate(node.input):
            if name in floats and not _may_be_float(node, k):
                raise ExportError(f"{shown} reads the constant `{name}`, which no quantizer has touched")
        if node.op_type == "Quant":
            _check_scale(shown, floats, node)
    _check_layers(module, layers, {node.name for node in model.graph.node if node.op_type == "Quant"})


def _may_be_float(node: onnx.NodeProto, k: int) -> bool:
    """Whether input `k` may be a constant of floats that no quantizer has touched."""
    if node.domain == DOMAIN and node.op_type in ops.signatures():
        inputs = ops.signatures()[node.op_type].inputs
        return k < len(inputs) and inputs[k].may_be_float
    return k in STANDARD_PARAMETERS.get(node.op_type, ())


def _check_scale(shown: str, floats: dict[str, np.ndarray], node: onnx.NodeProto) -> None:
    for k, what in ((1, "scale"), (2, "zero point"), (3, "bit width")):
        if node.input[k] not in floats:
            raise ExportError(f"{shown} has a {what} that is no constant")
    scale, zero_point = floats[node.input[1]], floats[node.input[2]]
    if (np.frexp(scale)[0] != 0.5).any():
        raise ExportError(f"{shown} has a scale that is no power of two")
    if zero_point.any():
        raise ExportError(f"{shown} has a zero point other than 0")


def _check_layers(module: nn.Module, layers: dict[str, set[str]], quantizers: set[str]) -> None:
    network = module.model if isinstance(module, QuantizedNetwork) else module
    for path, layer in network.named_modules():
        op_types = getattr(type(layer), "exported_as", ())
        if op_types and not layers.get(path, set()) & set(op_types):
            raise ExportError(
                f"layer `{path}` ({type(layer).__name__}) left no {' or '.join(op_types)} node in the exported graph"
            )
        for name, inner in layer.named_children():
            enabled = getattr(getattr(inner, "act_quant", inner), "is_quant_enabled", False)
            if (
                name.endswith("_quant")
                and name != "act_quant"
                and enabled
                and f"{path}.{name}".lstrip(".") not in quantizers
            ):
                raise ExportError(
                    f"quantizer `{f'{path}.{name}'.lstrip('.')}` left no Quant node in the exported graph"
                )
