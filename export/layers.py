"""Look inside an exported file: make values of inner nodes graph outputs, and find what each layer gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
from onnx import TensorProto, helper

from mfsim.export.naming import LAYER_KEY


def layer_of(node: onnx.NodeProto) -> str:
    """Return the dotted path of the module that made `node`, or an empty string.

    Parameters
    ----------
    node : onnx.NodeProto

    Returns
    -------
    str
    """
    return next((p.value for p in node.metadata_props if p.key == LAYER_KEY), "")


def layer_values(model: onnx.ModelProto) -> dict[str, str]:
    """Return for each layer the value that its last node writes, quantizers left out, in file order.

    Parameters
    ----------
    model : onnx.ModelProto

    Returns
    -------
    dict of str to str
        Name of the value by path of the layer.
    """
    values: dict[str, str] = {}
    for node in model.graph.node:
        layer = layer_of(node)
        if layer and node.op_type != "Quant":
            values.pop(layer, None)
            values[layer] = node.output[0]
    return values


def with_outputs(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """Return a copy of `model` with the float values `names` as further graph outputs.

    Parameters
    ----------
    model : onnx.ModelProto
        Left as it is.
    names : iterable of str
        Of values in the graph; those that are outputs already are left out.

    Returns
    -------
    onnx.ModelProto
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    present = {value.name for value in copy.graph.output}
    shapes: Mapping[str, onnx.ValueInfoProto] = {value.name: value for value in copy.graph.value_info}
    for name in dict.fromkeys(names):
        if name not in present:
            info = shapes.get(name)
            copy.graph.output.append(info or helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return copy
