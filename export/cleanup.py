"""Passes on a raw exported model: constants folded, identities and dead nodes removed, shapes simplified.

No pass merges equal nodes or shares equal numbers: every quantizer keeps its own node and its own
scale, zero point and bit width. Only standard ops on constants are evaluated; a `Quant` never is, so
that the file keeps its float weights and a sweep can quantize them again.

`onnx_ir` has two of these passes, for identities and dead nodes, and they give the same bytes. Converting
the graph there and back would cost more than the lines that they save; the others depend on `Quant`.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mfsim.export.layouts import plain_layouts
from mfsim.ops.model_bodies import OPSET

MOVING = ("Reshape", "Squeeze", "Unsqueeze", "Cast", "Gather", "Slice")
"""Ops through which one number of a shape stays one number."""


def clean_up(model: onnx.ModelProto) -> None:
    """Run all passes on `model` in place.

    Parameters
    ----------
    model : onnx.ModelProto
        As torch's exporter returns it.
    """
    graph = model.graph
    _fold_constants(graph)
    _remove_zero_biases(graph)
    _simplify_reshapes(graph)
    _remove_identities(graph)
    plain_layouts(graph, _arrays(graph))
    _hoist_moves(graph)
    _remove_dead(graph)
    _separate_parameters(graph)


def rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Let every node read `new` where it read `old`.

    Parameters
    ----------
    graph : onnx.GraphProto
        Changed in place; graph outputs stay.
    old, new : str
        Names of values.
    """
    for node in graph.node:
        for k, name in enumerate(node.input):
            if name == old:
                node.input[k] = new


def _arrays(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Return the initializers by name."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _fold_constants(graph: onnx.GraphProto) -> None:
    """Replace standard nodes whose inputs are all constant by initializers."""
    known = _arrays(graph)
    quantized: dict[str, str] = {}
    outputs = {value.name for value in graph.output}
    floats = {value.name for value in graph.value_info if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
    kept = []
    for node in list(graph.node):
        if node.op_type == "CastLike" and node.input[1] in floats:
            node.op_type, node.input[:] = "Cast", node.input[:1]
            node.attribute.append(helper.make_attribute("to", onnx.TensorProto.FLOAT))
        if node.op_type == "Quant" and node.input[0] in known:
            quantized[node.output[0]] = node.input[0]
        if node.op_type == "Shape" and node.input[0] in quantized:
            node.input[0] = quantized[node.input[0]]  # the shape of constants is known, quantized or not
        inputs = [name for name in node.input if name]
        if node.domain or any(name not in known for name in inputs) or outputs & set(node.output):
            kept.append(node)
            continue
        results = ReferenceEvaluator(node, opsets={"": OPSET}).run(None, {name: known[name] for name in inputs})
        for name, result in zip(node.output, results, strict=True):
            result = np.asarray(result)
            source = known.get(node.input[0]) if node.input else None
            if source is not None and source.dtype == result.dtype and np.array_equal(source, result):
                rename(graph, name, node.input[0])
            else:
                known[name] = result
                graph.initializer.append(numpy_helper.from_array(result, name))
    del graph.node[:]
    graph.node.extend(kept)


def _remove_zero_biases(graph: onnx.GraphProto) -> None:
    """Remove the bias of zeros that torch's exporter gives a convolution without one."""
    known = _arrays(graph)
    for node in graph.node:
        if (
            node.op_type == "Conv"
            and len(node.input) == 3
            and node.input[2] in known
            and not known[node.input[2]].any()
        ):
            del node.input[2]


def _simplify_reshapes(graph: onnx.GraphProto) -> None:
    """Give every Reshape whose shape has one unknown number, the batch, a constant shape with -1 in its place."""
    known = _arrays(graph)
    makers = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        maker = makers.get(node.input[1]) if node.op_type == "Reshape" and not node.domain else None
        if maker is None or maker.op_type != "Concat":
            continue
        parts = [known[name].reshape(-1).tolist() if name in known else [-1] for name in maker.input]
        single = all(name in known or _is_one_number(name, makers) for name in maker.input)
        shape = [int(n) for part in parts for n in part]
        if single and shape.count(-1) == 1 and 0 not in shape:
            name = f"{node.output[0]}.shape"
            graph.initializer.append(numpy_helper.from_array(np.array(shape, dtype=np.int64), name))
            node.input[1] = name
            del node.attribute[:]


def _is_one_number(name: str, makers: dict[str, onnx.NodeProto]) -> bool:
    """Whether `name` is a batch size: one entry of a Shape, moved about."""
    node = makers.get(name)
    while node is not None and node.op_type in MOVING:
        node = makers.get(node.input[0])
    if node is None or node.op_type != "Shape":
        return False
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return attributes.get("start") == 0 and attributes.get("end") == 1


def _remove_identities(graph: onnx.GraphProto) -> None:
    """Remove Identity nodes, save between a graph input and a graph output."""
    ends = {value.name for value in graph.output}
    makers = {name: node for node in graph.node for name in node.output}
    kept = []
    for node in list(graph.node):
        if node.op_type != "Identity" or node.domain:
            kept.append(node)
        elif node.output[0] not in ends:
            rename(graph, node.output[0], node.input[0])
        elif node.input[0] in makers and node.input[0] not in ends:
            maker, old = makers[node.input[0]], node.input[0]
            maker.output[list(maker.output).index(old)] = node.output[0]
            rename(graph, old, node.output[0])
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)


def _hoist_moves(graph: onnx.GraphProto) -> None:
    """Turn Transpose(Quant(weight)) into Quant(transposed weight), and so for the axes of a bias.

    The file then holds weights as [in, out], and a bias as it meets its product.
    """
    known = _arrays(graph)
    makers = {name: node for node in graph.node for name in node.output}
    uses = [name for node in graph.node for name in node.input] + [value.name for value in graph.output]
    kept = []
    for node in list(graph.node):
        quant = (
            makers.get(node.input[0])
            if node.op_type in ("Transpose", "Unsqueeze", "Reshape") and not node.domain
            else None
        )
        if (
            quant is None
            or quant.op_type != "Quant"
            or uses.count(quant.output[0]) != 1
            or not _movable(quant, node, known)
        ):
            kept.append(node)
            continue
        for k in (0, 1):
            values = known[quant.input[k]]
            if k == 0 or values.size > 1:
                name = f"{quant.input[k]}.of.{node.output[0]}"
                known[name] = _evaluate(node, values, known)
                graph.initializer.append(numpy_helper.from_array(known[name], name))
                quant.input[k] = name
        uses.remove(quant.output[0])
        quant.output[0] = node.output[0]
        makers[node.output[0]] = quant
    del graph.node[:]
    graph.node.extend(kept)


def _movable(quant: onnx.NodeProto, node: onnx.NodeProto, known: dict[str, np.ndarray]) -> bool:
    """Whether `node` does the same to the values and to the scale of `quant`, both constant."""
    if any(name not in known for name in (*quant.input[:2], *node.input[1:])):
        return False
    values, scale = known[quant.input[0]], known[quant.input[1]]
    same_axes = scale.ndim == values.ndim and (node.op_type != "Reshape" or scale.shape == values.shape)
    return scale.size == 1 or same_axes


def _evaluate(node: onnx.NodeProto, values: np.ndarray, known: dict[str, np.ndarray]) -> np.ndarray:
    feeds = {name: known[name] for name in node.input[1:]} | {node.input[0]: values}
    (result,) = ReferenceEvaluator(node, opsets={"": OPSET}).run(None, feeds)
    return np.ascontiguousarray(result)


def _remove_dead(graph: onnx.GraphProto) -> None:
    """Remove nodes and initializers that no output needs."""
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed.update(node.input)
            kept.append(node)
    nodes = list(reversed(kept))
    initializers = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.node[:]
    graph.node.extend(nodes)
    del graph.initializer[:]
    graph.initializer.extend(initializers)


def _separate_parameters(graph: onnx.GraphProto) -> None:
    """Give every Quant that shares a scale, zero point or bit width with another node its own copy."""
    known = {tensor.name: tensor for tensor in graph.initializer}
    taken: set[str] = set()
    for node in graph.node:
        if node.op_type != "Quant":
            continue
        for k, name in enumerate(node.input):
            if k and name in taken:
                copied = onnx.TensorProto()
                copied.CopyFrom(known[name])
                copied.name = f"{name}.of.{node.output[0]}"
                graph.initializer.append(copied)
                node.input[k] = copied.name
            taken.add(name)
