"""What a program says about its tensors and nodes, as `metadata_props` of an ONNX file, both ways.

    tensor   mfsim.word   "s8", "u7"
             mfsim.scale  {"exponents": [...], "axis": null}     real value = code * 2**exponent
                          and "factors": [[n, d], ...], times n / d, where it is no power of two
             mfsim.range  {"lo": [...], "hi": [...], "axis": null}
    node     mfsim.op     name of the op in the program
             mfsim.inputs, mfsim.outputs   names of its tensors
             mfsim.words  {"acc_x": "s12"}, its inner accumulators
             mfsim.layer  dotted path of the module that it came from
    model    mfsim.integer         version of this layout
             mfsim.digest          `Program.digest()`
             mfsim.ir.program.<key>   metadata of the program

The attributes of a node are its ONNX attributes: bodies refer to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import onnx

from mfsim.errors import MfsimError, ModelError
from mfsim.ir.formats import Format, Range, Scale
from mfsim.ir.program import Node, Program, Tensor, Value

LAYOUT = "1"

PROGRAM_PREFIX = "mfsim.ir.program."

T = TypeVar("T")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def put(proto: Any, properties: Mapping[str, str]) -> None:
    """Append `properties` to the metadata of a model, node, tensor or value_info.

    Parameters
    ----------
    proto : protobuf message with `metadata_props`
        Model, node, tensor or value_info; it is changed.
    properties : mapping of str to str
        Entries to append.
    """
    for key, value in properties.items():
        proto.metadata_props.add(key=key, value=value)


def tensor_properties(tensor: Tensor) -> dict[str, str]:
    """Return the metadata of a tensor.

    Parameters
    ----------
    tensor : Tensor
        Tensor of a program.

    Returns
    -------
    dict of str to str
        Word, scale and range.
    """
    scale: dict[str, object] = {"exponents": tensor.scale.exponents, "axis": tensor.scale.axis}
    if tensor.scale.factors:
        scale["factors"] = [[f.numerator, f.denominator] for f in tensor.scale.factors]
    return {
        "mfsim.word": str(tensor.format),
        "mfsim.scale": _json(scale),
        "mfsim.range": _json({"lo": tensor.range.lo, "hi": tensor.range.hi, "axis": tensor.range.axis}),
    }


def node_properties(node: Node) -> dict[str, str]:
    """Return the metadata of a node.

    Parameters
    ----------
    node : Node
        Node of a program.

    Returns
    -------
    dict of str to str
        Op, inputs, outputs, inner words and layer.
    """
    return {
        "mfsim.op": node.op,
        "mfsim.inputs": _json(node.inputs),
        "mfsim.outputs": _json(node.outputs),
        "mfsim.words": _json({name: str(word) for name, word in node.words.items()}),
        "mfsim.layer": node.layer,
    }


def model_properties(program: Program) -> dict[str, str]:
    """Return the metadata of a model.

    Parameters
    ----------
    program : Program
        Integer program.

    Returns
    -------
    dict of str to str
        Layout, digest and the program's own metadata.
    """
    own = {"mfsim.integer": LAYOUT, "mfsim.digest": program.digest()}
    return own | {PROGRAM_PREFIX + key: value for key, value in sorted(program.metadata.items())}


class Properties:
    """The metadata of one proto, read with errors that name `where`."""

    def __init__(self, proto: Any, where: str) -> None:
        self.values: dict[str, str] = {entry.key: entry.value for entry in proto.metadata_props}
        self.where = where

    def text(self, key: str) -> str:
        """Metadata entry as text.

        Parameters
        ----------
        key : str
            Key of the entry.

        Returns
        -------
        str
            Its value.

        Raises
        ------
        ModelError
            If it is missing.
        """
        if key not in self.values:
            raise ModelError(f"{self.where} has no metadata `{key}`")
        return self.values[key]

    def json(self, key: str, function: Callable[[Any], T]) -> T:
        """Metadata entry parsed from JSON.

        Parameters
        ----------
        key : str
            Key of the entry.
        function : callable
            Makes the result from the parsed value.

        Returns
        -------
        T
            What `function` returns.

        Raises
        ------
        ModelError
            If the entry is missing or cannot be read.
        """
        text = self.text(key)
        try:
            return function(json.loads(text))
        except (MfsimError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            raise ModelError(f"the metadata `{key}` of {self.where} cannot be read: {text[:80]!r}") from error


def _parse_word(text: str) -> Format:
    """Return the word that `str(Format)` wrote."""
    match = re.fullmatch(r"([su])([1-9][0-9]?)", text)
    if match is None:
        raise ModelError(f"a word must look like s8 or u7, not {text!r}")
    return Format(int(match[2]), match[1] == "s")


def _integers(values: Iterable[object]) -> tuple[int, ...]:
    integers = tuple(value for value in values if type(value) is int)
    if integers != tuple(values):
        raise ModelError("integers are expected")
    return integers


def _scale(value: Any) -> Scale:
    factors = (Fraction(*_integers(pair)) for pair in value.get("factors", ()))
    return Scale(_integers(value["exponents"]), value["axis"], tuple(factors))


def read_tensor(name: str, shape: tuple[int, ...], proto: Any, codes: np.ndarray | None) -> Tensor:
    """Return the tensor `name` with the metadata of `proto`; `ModelError` names it.

    Parameters
    ----------
    name : str
        Name of the tensor, also in messages.
    shape : tuple of int
        Its shape.
    proto : protobuf message with `metadata_props`
        Its tensor or value_info.
    codes : int64 array or None
        Codes of a constant.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ModelError
        If the metadata is missing, cannot be read, or contradicts itself.
    """
    properties = Properties(proto, f"tensor `{name}`")
    scale = properties.json("mfsim.scale", _scale)
    range_ = properties.json("mfsim.range", lambda v: Range(_integers(v["lo"]), _integers(v["hi"]), v["axis"]))
    try:
        return Tensor(name, shape, _parse_word(properties.text("mfsim.word")), scale, range_, codes)
    except MfsimError as error:
        raise ModelError(f"the metadata of tensor `{name}` contradicts itself: {error}") from error


def read_node(proto: onnx.NodeProto) -> Node:
    """Return the program's node that `proto` realises; `ModelError` names it.

    Parameters
    ----------
    proto : onnx.NodeProto
        Node of an integer model.

    Returns
    -------
    Node
        The program's node.

    Raises
    ------
    ModelError
        If its metadata is missing or cannot be read, or an attribute has another type than int, ints or
        string.
    """
    properties = Properties(proto, f"node `{proto.name}`")
    attributes: dict[str, Value] = {}
    for attribute in proto.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.INTS:
            attributes[attribute.name] = tuple(value)
        elif attribute.type in (onnx.AttributeProto.INT, onnx.AttributeProto.STRING):
            attributes[attribute.name] = value.decode() if isinstance(value, bytes) else value
        else:
            raise ModelError(f"attribute `{attribute.name}` of node `{proto.name}` must be an int, ints or a string")
    return Node(
        name=proto.name,
        op=properties.text("mfsim.op"),
        inputs=properties.json("mfsim.inputs", _names),
        outputs=properties.json("mfsim.outputs", _names),
        attributes=attributes,
        words=properties.json("mfsim.words", lambda v: {name: _parse_word(word) for name, word in v.items()}),
        layer=properties.text("mfsim.layer"),
    )


def _names(values: object) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ModelError("a list of names is expected")
    return tuple(values)


def program_metadata(properties: Properties) -> dict[str, str]:
    """Return the metadata of the program in that of the model.

    Parameters
    ----------
    properties : Properties
        Metadata of the model.

    Returns
    -------
    dict of str to str
        Metadata of the program.
    """
    return {
        key.removeprefix(PROGRAM_PREFIX): value
        for key, value in properties.values.items()
        if key.startswith(PROGRAM_PREFIX)
    }
