"""The graph of a file as the rules see it: decoded nodes, arrays, shapes, consumers; no protobuf.

Names are kept. Axis 0 of every input is the batch: its size in the file, fixed or not, is not part of
a program; `BATCH` stands for it wherever a file computes with shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from mfsim.errors import ModelError
from mfsim.ir.formats import Format

BATCH = -(2**62)
"""Stands for the batch size in shape vectors; no file has it as a number."""

LAYER_KEY = "mfsim.layer"
"""Key of a node's metadata: the dotted path of the module that made it."""

CONSTANT_KEY = "mfsim.constant"
"""Key of a Quant's metadata: `fixed` if the architecture gives its constants; without it they are learned."""

INTEGERS = {
    getattr(TensorProto, f"{sign}INT{bits}"): Format(min(bits, 63), not sign)
    for bits in (2, 4, 8, 16, 32, 64)
    for sign in ("", "U")
}
"""Words of integer inputs; of 64 bits only 63 can be fed."""


@dataclass(frozen=True, eq=False)
class FileNode:
    """One node of a file; `domain` is "" for standard ops, an empty name in `inputs` is a left-out one."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]
    layer: str
    constant: str = "learned"
    """What the constants of a Quant are: learned or fixed."""

    @property
    def shown(self) -> str:
        """How an error names this node."""
        return f"node `{self.name}` ({self.domain + '::' if self.domain else ''}{self.op})"

    def integer(self, name: str, default: int) -> int:
        """Return an attribute that is one int.

        Parameters
        ----------
        name : str
            Name of the attribute.
        default : int
            Value where the node does not state it.

        Returns
        -------
        int
            Its value.

        Raises
        ------
        ModelError
            If it is of another type.
        """
        return int(self._typed(name, default, (int,), "an int"))

    def number(self, name: str, default: float) -> float:
        """Return an attribute that is one number.

        Parameters
        ----------
        name : str
            Name of the attribute.
        default : float
            Value where the node does not state it.

        Returns
        -------
        float
            Its value.

        Raises
        ------
        ModelError
            If it is of another type.
        """
        return float(self._typed(name, default, (int, float), "a number"))

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a string.

        Parameters
        ----------
        name : str
            Name of the attribute.
        default : str
            Value where the node does not state it.

        Returns
        -------
        str
            Its value.

        Raises
        ------
        ModelError
            If it is of another type.
        """
        return str(self._typed(name, default, (str,), "a string"))

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """Return an attribute that is a list of ints.

        Parameters
        ----------
        name : str
            Name of the attribute.
        default : sequence of int
            Value where the node does not state it.

        Returns
        -------
        tuple of int
            Its value.

        Raises
        ------
        ModelError
            If it is of another type.
        """
        return tuple(int(v) for v in self._typed(name, default, (list, tuple), "a list of ints"))

    def _typed(self, name: str, default: Any, kinds: tuple[type, ...], what: str) -> Any:
        value = self.attributes.get(name, default)
        if not isinstance(value, kinds):
            raise ModelError(f"the attribute `{name}` must be {what}")
        return value


@dataclass(frozen=True, eq=False)
class FileGraph:
    """The nodes that some output needs, in file order, and what they read."""

    inputs: Mapping[str, tuple[int, ...]]
    """Shape of each input; entry 0 is `BATCH`."""
    outputs: tuple[str, ...]
    constants: Mapping[str, np.ndarray]
    nodes: tuple[FileNode, ...]
    consumers: Mapping[str, tuple[FileNode, ...]]
    opset: int
    batch: int | None
    """Batch size that the file fixes, or None."""
    integers: Mapping[str, Format]
    """The word of each input that is no float: int64 where it numbers rows, any integers in third-party files."""

    @cached_property
    def written(self) -> frozenset[str]:
        """The names of all that nodes write."""
        return frozenset(name for node in self.nodes for name in node.outputs)


def graph_of(model: onnx.ModelProto, opset: int, third_party: bool = False) -> FileGraph:
    """Return the decoded graph of a checked model.

    Inputs may be int64, which in the dialect number rows of constants, and any integers in a third-party file.

    Parameters
    ----------
    model : onnx.ModelProto
        Checked model.
    opset : int
        Version of its standard opset.
    third_party : bool
        Whether it is outside the dialect of mfsim.

    Returns
    -------
    FileGraph
        Inputs, outputs, constants and the nodes that the outputs need, in order.

    Raises
    ------
    ModelError
        If something cannot be decoded; the message names it.
    """
    graph = model.graph
    constants = {tensor.name: array_of(tensor) for tensor in graph.initializer}
    inputs: dict[str, tuple[int, ...]] = {}
    integers, batches = {}, set()
    for value in graph.input:
        if value.name not in constants:
            inputs[value.name], batch = _input_shape(value, third_party)
            batches.add(batch)
            if value.type.tensor_type.elem_type != TensorProto.FLOAT:
                integers[value.name] = INTEGERS[value.type.tensor_type.elem_type]
    if len(batches) > 1:
        raise ModelError("all graph inputs must have the same batch axis")
    nodes = tuple(_node(proto, index) for index, proto in enumerate(graph.node))
    outputs = tuple(value.name for value in graph.output)
    _check_order(nodes, set(inputs) | set(constants), outputs)
    nodes = _needed(nodes, outputs)
    consumers: dict[str, list[FileNode]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.inputs):
            consumers.setdefault(name, []).append(node)
    return FileGraph(
        inputs,
        outputs,
        constants,
        nodes,
        {name: tuple(users) for name, users in consumers.items()},
        opset,
        batches.pop() if batches else None,
        integers,
    )


def array_of(tensor: onnx.TensorProto) -> np.ndarray:
    """Return the values of a tensor as float64, float32, integer or bool numpy data.

    Parameters
    ----------
    tensor : onnx.TensorProto
        Initializer.

    Returns
    -------
    array
        Its values, a copy.

    Raises
    ------
    ModelError
        If its data do not suit its shape or type.
    """
    try:
        if min(tensor.dims, default=0) < 0:
            raise ValueError("numpy would infer a size of -1")
        return np.array(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"tensor `{tensor.name}` has damaged data: its size or type does not suit its shape"
        ) from error


def _input_shape(value: onnx.ValueInfoProto, third_party: bool) -> tuple[tuple[int, ...], int | None]:
    """Return the shape with `BATCH` first, and the batch size that the file fixes (or None)."""
    kind = value.type.tensor_type
    allowed = {TensorProto.FLOAT, *(INTEGERS if third_party else (TensorProto.INT64,))}
    if value.type.WhichOneof("value") != "tensor_type" or kind.elem_type not in allowed:
        known = kind.elem_type in TensorProto.DataType.values() and kind.elem_type != TensorProto.UNDEFINED
        have = TensorProto.DataType.Name(kind.elem_type).lower() if known else "of no known type"
        raise ModelError(
            f"graph input `{value.name}` must be float32 or {'integers' if third_party else 'int64'}, not {have}"
        )
    if not kind.HasField("shape") or not kind.shape.dim:
        raise ModelError(f"graph input `{value.name}` must have a shape whose axis 0 is the batch")
    batch, *sizes = (dim.dim_value if dim.HasField("dim_value") else 0 for dim in kind.shape.dim)
    for axis, size in enumerate(sizes, 1):
        if size < 1:
            shown = kind.shape.dim[axis].dim_param or size or "?"
            raise ModelError(
                f"axis {axis} of graph input `{value.name}` must have a fixed size, not {shown}; only axis 0, the batch, may vary"
            )
    return (BATCH, *sizes), batch or None


def _node(proto: onnx.NodeProto, index: int) -> FileNode:
    name = proto.name or f"{proto.op_type}_{index}"
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    return FileNode(
        name,
        proto.op_type,
        "" if proto.domain == "ai.onnx" else proto.domain,
        tuple(proto.input),
        tuple(proto.output),
        {attribute.name: _attribute(attribute) for attribute in proto.attribute},
        metadata.get(LAYER_KEY, ""),
        metadata.get(CONSTANT_KEY, "learned"),
    )


def _attribute(attribute: onnx.AttributeProto) -> object:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, onnx.TensorProto):
        return array_of(value)
    return list(value) if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS) else value


def _check_order(nodes: tuple[FileNode, ...], known: set[str], outputs: tuple[str, ...]) -> None:
    for node in nodes:
        for name in node.inputs:
            if name and name not in known:
                raise ModelError(f"{node.shown} reads `{name}` before anything writes it")
        for name in node.outputs:
            if name and name in known:
                raise ModelError(f"{node.shown} writes `{name}`, which already has a value")
            known.add(name)
    for name in outputs:
        if name not in known:
            raise ModelError(f"graph output `{name}` is written by no node")


def _needed(nodes: tuple[FileNode, ...], outputs: tuple[str, ...]) -> tuple[FileNode, ...]:
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    return tuple(reversed(kept))
