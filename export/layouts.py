"""Passes on a raw exported model: layouts that torch writes in ways which the dialect does not have.

SplitToSequence, SequenceAt      of chunk and split: a Slice for each part
Transpose, then one index of axis 0     of permute and [k], which moves the batch away and back: first the index

`onnx_ir` has no pass for either; mfsim/export/cleanup.py says why the graph stays a protobuf here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper


def plain_layouts(graph: onnx.GraphProto, known: dict[str, np.ndarray]) -> None:
    """Run both passes on `graph` in place.

    Parameters
    ----------
    graph : onnx.GraphProto
    known : dict of str to array
        The initializers by name, constants folded.
    """
    _slice_sequences(graph, known)
    _index_first(graph, known)


def _slice_sequences(graph: onnx.GraphProto, known: dict[str, np.ndarray]) -> None:
    """Replace each part of a sequence that was split off a tensor by a Slice of the tensor."""
    constant = _constants(graph)
    splits = {node.output[0]: node for node in graph.node if node.op_type == "SplitToSequence"}
    for node in graph.node:
        split = splits.get(node.input[0]) if node.op_type == "SequenceAt" else None
        if split is None or node.input[1] not in known or split.input[1] not in known or _attribute(split, "axis") == 0:
            continue
        sizes, k = known[split.input[1]], int(known[node.input[1]])
        ends = np.cumsum(sizes) if sizes.ndim else sizes * np.arange(1, k + 2)
        start = 0 if k == 0 else ends[k - 1]
        name = node.output[0]
        cut = [constant(f"{name}.{what}", [value]) for what, value in (("start", start), ("end", ends[k]))]
        cut.append(constant(f"{name}.axis", [_attribute(split, "axis")]))
        node.op_type, node.input[:] = "Slice", [split.input[0], *cut]


def _index_first(graph: onnx.GraphProto, known: dict[str, np.ndarray]) -> None:
    """Take one index of an axis before a Transpose that moves this axis to the front, where the batch was."""
    constant = _constants(graph)
    makers = {name: node for node in graph.node for name in node.output}
    moves: dict[int, list[onnx.NodeProto]] = {}
    for node in graph.node:
        found = _index_of_front(node, makers, known)
        if found is None:
            continue
        transpose, index = found
        front, *rest = next(list(a.ints) for a in transpose.attribute if a.name == "perm")
        if front == 0:
            continue
        name = node.output[0]
        picked = f"{name}.picked"
        places = [transpose.input[0], constant(f"{name}.index", index)]
        gather = helper.make_node("Gather", places, [picked], axis=front)
        gather.metadata_props.extend(node.metadata_props)
        moves[id(node)] = [gather]
        node.op_type, node.input[:] = "Transpose", [picked]
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("perm", [axis - (axis > front) for axis in rest]))
    nodes = [new for node in graph.node for new in (*moves.get(id(node), ()), node)]
    if moves:
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(kept)


def _index_of_front(
    node: onnx.NodeProto, makers: dict[str, onnx.NodeProto], known: dict[str, np.ndarray]
) -> tuple[onnx.NodeProto, int] | None:
    """Return the Transpose whose axis 0 `node` takes one index of, and that index; None for any other node."""
    index: int | None = None
    source = node.input[0] if node.input else ""
    if node.op_type == "Gather" and _attribute(node, "axis") == 0 and known.get(node.input[1], np.ones(2)).ndim == 0:
        index = int(known[node.input[1]])
    cut = makers.get(source)
    if node.op_type == "Squeeze" and cut is not None and cut.op_type == "Slice" and len(cut.input) == 4:
        axes = [known.get(name, np.ones(2)).reshape(-1).tolist() for name in (node.input[1], cut.input[3])]
        start, end = (known.get(name, np.ones(2)).reshape(-1).tolist() for name in cut.input[1:3])
        if axes == [[0], [0]] and len(start) == len(end) == 1 and end[0] == start[0] + 1:
            source, index = cut.input[0], int(start[0])
    transpose = makers.get(source)
    if index is None or transpose is None or transpose.op_type != "Transpose" or transpose.domain:
        return None
    return transpose, index


def _attribute(node: onnx.NodeProto, name: str) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), 0)


def _constants(graph: onnx.GraphProto) -> Callable[[str, object], str]:
    """Return a function that adds an int64 initializer and returns its name."""

    def constant(name: str, values: object) -> str:
        graph.initializer.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    return constant
