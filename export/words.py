"""The words of a quantized model's graph: taken out of it, and put in by a plan of `mfsim.quant.choose_qparams`.

A bare graph has no accumulator and no quantizer at its entrance, because recipes differ in them; every
other quantizer stays where it is, and gets other scale and bit-width initializers. What is put in has
the names, the order and the shapes that the exporter gives it, so that an edited file has the bytes of
one that was exported afresh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from mfsim import ops
from mfsim.export.cleanup import rename
from mfsim.export.layers import layer_of
from mfsim.export.naming import LAYER_KEY, PARAMETERS, end_name
from mfsim.ops.grid.accumulator import OP as ACCUMULATOR_OP
from mfsim.ops.traits import DERIVED, DOMAIN, Trait
from mfsim.quant.calibration import Calibration
from mfsim.quant.qparams import QParams, QParamsByPath

MFSIM, QONNX = DOMAIN, "qonnx.custom_op.general"
SATURATION = ACCUMULATOR_OP.onnx
"""The node of an accumulator that is narrower than proved."""
WEIGHT, BIAS, ACCUMULATOR, ENTRANCE = "weight_quant", "bias_quant", "accumulator", "input_quant."


CALIBRATION, QUANTIZERS = "mfsim.calibration", "mfsim.quantizers"
"""Keys of a model's metadata: its calibration, and the names of the Quant nodes by the path of their quantizer."""


def set_calibration(model: onnx.ModelProto, calibration: Calibration, quantizers: Mapping[str, Sequence[str]]) -> None:
    """Write what `open_model` needs into the metadata of `model`.

    Parameters
    ----------
    model : onnx.ModelProto
        Changed in place.
    calibration : Calibration
    quantizers : mapping of str to sequence of str
        Names of the Quant nodes by the path of their quantizer.
    """
    others = {entry.key: entry.value for entry in model.metadata_props}
    names = json.dumps({path: list(names) for path, names in quantizers.items()}, sort_keys=True)
    helper.set_model_props(
        model, dict(sorted((others | {CALIBRATION: calibration.to_text(), QUANTIZERS: names}).items()))
    )


def in_order(graph: onnx.GraphProto) -> None:
    """Bring initializers into the order in which nodes read them, and shapes into that in which they are written.

    Parameters
    ----------
    graph : onnx.GraphProto
        Changed in place.
    """
    read = {name: k for k, name in enumerate(dict.fromkeys(name for node in graph.node for name in node.input))}
    written = {name: k for k, name in enumerate(name for node in graph.node for name in node.output)}
    for things, order in ((graph.initializer, read), (graph.value_info, written)):
        things.sort(key=lambda thing, order=order: order.get(thing.name, len(order)))


def take_out(graph: onnx.GraphProto, entrances: Sequence[str]) -> None:
    """Make `graph` bare: remove accumulators and the quantizers named `entrances`.

    Parameters
    ----------
    graph : onnx.GraphProto
        Changed in place.
    entrances : sequence of str
        Names of the Quant nodes at the inputs.
    """
    removed = [node for node in graph.node if node.name in entrances or _is(node, MFSIM, SATURATION.op_type)]
    for node in removed:
        rename(graph, node.output[0], node.input[0])
        graph.node.remove(node)
    gone = {name for node in removed for name in (*node.input[1:], *node.output)}
    for things in (graph.initializer, graph.value_info):
        kept = [thing for thing in things if thing.name not in gone]
        del things[:]
        things.extend(kept)
    in_order(graph)


def put_in(graph: onnx.GraphProto, plan: QParamsByPath, quantizers: Mapping[str, Sequence[str]]) -> None:
    """Put the accumulators and entrances of `plan` into a bare `graph`; their scales and bit widths hold nothing yet.

    Parameters
    ----------
    graph : onnx.GraphProto
        Bare; changed in place.
    plan : dict of str to QParams
    quantizers : mapping of str to sequence of str
        Names of the Quant nodes by the path of their quantizer.
    """
    for path, word in plan.items():
        if path.rpartition(".")[2] == ACCUMULATOR:
            _put_accumulators(graph, path.rpartition(".")[0], word, quantizers)
    entrances = [word for path, word in plan.items() if path.startswith(ENTRANCE)]
    for k, word in reversed(list(enumerate(entrances))):
        _put_entrance(graph, k, word)
    in_order(graph)


def blank(graph: onnx.GraphProto, quantizers: Mapping[str, Sequence[str]]) -> None:
    """Set every scale and bit width of a bare `graph` to 0, so that graphs with other words are equal.

    Parameters
    ----------
    graph : onnx.GraphProto
        Bare; changed in place.
    quantizers : mapping of str to sequence of str
        Names of the Quant nodes by the path of their quantizer.
    """
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    nodes = {node.name: node for node in graph.node}
    names = [nodes[name].input[k] for names in quantizers.values() for name in names for k in (1, 3)]
    for name in (*names, *(node.input[k] for node, k, _, _ in derived_inputs(graph))):
        tensors[name].CopyFrom(number(name, 0.0))


def float_weights(graph: onnx.GraphProto, quantizers: Mapping[str, Sequence[str]], name: str) -> dict[str, np.ndarray]:
    """Return what the quantizers of one role quantize, outputs first.

    Parameters
    ----------
    graph : onnx.GraphProto
    quantizers : mapping of str to sequence of str
        Names of the Quant nodes by the path of their quantizer.
    name : {"weight_quant", "bias_quant", "threshold_quant"}
        What the quantizers are called in their layer.

    Returns
    -------
    dict of str to float32 array, shape [O, ...]
        By the path of the layer.
    """
    nodes = {node.name: node for node in graph.node}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    found = {}
    for path, names in quantizers.items():
        layer, _, role = path.rpartition(".")
        if role == name:
            node = nodes[names[0]]
            values = numpy_helper.to_array(tensors[node.input[0]])
            axis = output_axis(graph, node, values.ndim) if name == WEIGHT else 0
            found[layer] = np.ascontiguousarray(np.moveaxis(values, axis, 0))
    return found


def derived_inputs(graph: onnx.GraphProto) -> Iterator[tuple[onnx.NodeProto, int, str, str]]:
    """Yield every constant that is derived from scales.

    Parameters
    ----------
    graph : onnx.GraphProto

    Yields
    ------
    tuple of (onnx.NodeProto, int, str, str)
        Node, number of the input, path of the layer, and name of the constant.
    """
    for node in graph.node:
        signature = ops.signatures().get(node.op_type) if node.domain == MFSIM else None
        if signature is not None and signature.is_integer:
            for k, read in enumerate(signature.inputs):
                if read.role in DERIVED:
                    yield node, k, layer_of(node), read.stored


def _is(node: onnx.NodeProto, domain: str, op: str) -> bool:
    return (node.domain, node.op_type) == (domain, op)


def _is_of(node: onnx.NodeProto, trait: Trait) -> bool:
    return node.domain == MFSIM and node.op_type in ops.op_types(trait)


def is_convolution(node: onnx.NodeProto) -> bool:
    """Whether the outputs of a product are axis 1 of its result.

    Parameters
    ----------
    node : onnx.NodeProto
        A product with weights.

    Returns
    -------
    bool
    """
    return _is(node, "", "Conv") or _is_of(node, Trait.CONVOLUTION)


def number(name: str, value: float) -> onnx.TensorProto:
    """Return an initializer of one number.

    Parameters
    ----------
    name : str
    value : float

    Returns
    -------
    onnx.TensorProto
        float32, of no axis.
    """
    return numpy_helper.from_array(np.array(value, dtype=np.float32), name)


def scale(name: str, exponents: np.ndarray) -> onnx.TensorProto:
    """Return an initializer of scales 2**exponents.

    Parameters
    ----------
    name : str
    exponents : int64 array, any shape

    Returns
    -------
    onnx.TensorProto
        float32, of the same shape.
    """
    return numpy_helper.from_array(np.asarray(np.ldexp(np.float32(1), exponents)), name)


def _readers(graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
    return [node for node in graph.node if name in node.input]


def output_axis(graph: onnx.GraphProto, node: onnx.NodeProto, rank: int) -> int:
    """Return the axis of the output channels of the weights that `node` quantizes.

    Parameters
    ----------
    graph : onnx.GraphProto
    node : onnx.NodeProto
        The Quant node of the weights.
    rank : int, at least 1
        Number of axes of the weights.

    Returns
    -------
    int in 0 .. `rank` - 1
    """
    reader = _readers(graph, node.output[0])[0]
    attributes = {a.name: helper.get_attribute_value(a) for a in reader.attribute}
    if reader.op_type == "Transpose":
        axis = output_axis(graph, reader, rank)
        return int(attributes.get("perm", range(rank)[::-1])[axis])
    if is_convolution(reader) or _is_of(reader, Trait.OUTPUTS_FIRST) or attributes.get("transB", 0):
        return 0
    return rank - 1


def _put_accumulators(
    graph: onnx.GraphProto, layer: str, word: QParams, quantizers: Mapping[str, Sequence[str]]
) -> None:
    biases = {node.output[0] for node in _quantizers(graph, layer, BIAS, quantizers)}
    parameters = [f"{layer}.{read.stored}".lstrip(".") for read in SATURATION.inputs[1:]]
    for k, product in enumerate(products_of(graph, layer, quantizers)):
        sums = [node for node in _readers(graph, product.output[0]) if biases & set(node.input)]
        last = sums[0] if sums else product
        name = f"{layer}/{SATURATION.op_type}" + (f"_{k}" if k else "")
        rename(graph, last.output[0], name)
        made = helper.make_node(
            SATURATION.op_type,
            [last.output[0], *parameters],
            [name],
            name,
            domain=MFSIM,
            overflow=word.overflow,
            signed=1,
        )
        _insert(graph, list(graph.node).index(last) + 1, made, layer, last.output[0])
    graph.initializer.extend(onnx.TensorProto(name=name) for name in parameters)


def products_of(graph: onnx.GraphProto, layer: str, quantizers: Mapping[str, Sequence[str]]) -> list[onnx.NodeProto]:
    """Return the products with the weights of `layer`.

    Parameters
    ----------
    graph : onnx.GraphProto
    layer : str
        Path of the layer.
    quantizers : mapping of str to sequence of str
        Names of the Quant nodes by the path of their quantizer.

    Returns
    -------
    list of onnx.NodeProto
    """
    return [p for node in _quantizers(graph, layer, WEIGHT, quantizers) for p in _products(graph, node)]


def _quantizers(
    graph: onnx.GraphProto, layer: str, role: str, quantizers: Mapping[str, Sequence[str]]
) -> list[onnx.NodeProto]:
    nodes = {node.name: node for node in graph.node}
    return [nodes[name] for name in quantizers.get(f"{layer}.{role}".lstrip("."), ())]


def _products(graph: onnx.GraphProto, quantizer: onnx.NodeProto) -> list[onnx.NodeProto]:
    readers = _readers(graph, quantizer.output[0])
    return [p for node in readers for p in (_products(graph, node) if node.op_type == "Transpose" else [node])]


def _put_entrance(graph: onnx.GraphProto, k: int, word: QParams) -> None:
    """Insert the quantizer of input `k` of those that are no integers in front of everything."""
    value = [v.name for v in graph.input if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT][k]
    name = end_name(f"{ENTRANCE}{k}", len(graph.input))
    rename(graph, value, name)
    parameters = [f"{name}.{role}" for role in PARAMETERS[1:]]
    made = helper.make_node("Quant", [value, *parameters], [name], name, domain=QONNX)
    made.attribute.append(helper.make_attribute("rounding_mode", "ROUND"))
    made.attribute.append(helper.make_attribute("signed", int(word.signed)))
    made.attribute.append(helper.make_attribute("narrow", 0))
    _insert(graph, 0, made, name, value)
    graph.initializer.extend(onnx.TensorProto(name=name) for name in parameters)
    graph.initializer[-2].CopyFrom(number(parameters[1], 0.0))


def _insert(graph: onnx.GraphProto, at: int, node: onnx.NodeProto, layer: str, like: str) -> None:
    """Insert `node` of `layer`, whose result has the shape of the value `like`."""
    node.metadata_props.add(key=LAYER_KEY, value=layer)
    graph.node.insert(at, node)
    for value in (*graph.value_info, *graph.input):
        if value.name == like:
            graph.value_info.add().CopyFrom(value)
            graph.value_info[-1].name = node.output[0]
            break
