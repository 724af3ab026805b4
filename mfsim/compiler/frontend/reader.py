"""Read an ONNX file, with its external data, without trusting it.

A file is a stranger: it may be missing, empty, cut off, of another kind, or point at files that it has
no business to read. Each of these is one sentence here; nothing behind this door sees them.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator

import onnx

from mfsim.errors import ModelError


def read_model(source: str | os.PathLike[str] | onnx.ModelProto) -> onnx.ModelProto:
    """Return the model of a file, every tensor with its data inside.

    Parameters
    ----------
    source : path of an ONNX file, or a ModelProto (which is not changed)

    Raises
    ------
    ModelError
        If the file is missing, empty, truncated or no ONNX file, holds no graph, or keeps data in a
        file that is missing, too short, or outside the folder of the model.
    """
    if isinstance(source, onnx.ModelProto):
        model, folder, shown = onnx.ModelProto(), None, "the model"
        model.CopyFrom(source)
    else:
        path = pathlib.Path(source)
        model, folder, shown = _parsed(path), path.parent, f"model file `{path}`"
    if not model.HasField("graph") or not model.graph.output:
        raise ModelError(f"{shown} holds no graph with an output")
    for tensor in _tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _bring_in(tensor, folder)
    return model


def _parsed(path: pathlib.Path) -> onnx.ModelProto:
    if path.is_dir():
        raise ModelError(f"`{path}` is a folder, not a model file")
    if not path.exists():
        raise ModelError(f"model file `{path}` does not exist")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"model file `{path}` cannot be read: {error.strerror}") from error
    if not data:
        raise ModelError(f"model file `{path}` is empty")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's DecodeError, whose module has no types
        raise ModelError(f"model file `{path}` is truncated or no ONNX file") from error
    return model


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield every tensor of the model, those in functions and in the graphs of control flow too."""
    graphs, nodes = [model.graph], [node for function in model.functions for node in function.node]
    while graphs or nodes:
        if not nodes:
            graph = graphs.pop()
            yield from graph.initializer
            nodes.extend(graph.node)
            yield from _dense(graph.sparse_initializer)
        for attribute in (attribute for node in nodes for attribute in node.attribute):
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield from _dense([attribute.sparse_tensor])
            yield from (*attribute.tensors, *_dense(attribute.sparse_tensors))
            if attribute.HasField("g"):
                graphs.append(attribute.g)
            graphs.extend(attribute.graphs)
        nodes.clear()


def _dense(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    """Yield the tensors that sparse ones consist of."""
    for tensor in tensors:
        yield from (tensor.values, tensor.indices)


def _bring_in(tensor: onnx.TensorProto, folder: pathlib.Path | None) -> None:
    """Move the external data of `tensor` into it."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f"tensor `{tensor.name}` keeps its data in the file `{location}`"
    if folder is None:
        raise ModelError(f"{what}, which cannot be found for a model without a path; compile the model's file")
    home = folder.resolve()
    target = (home / location).resolve()
    if not location or pathlib.PurePath(location).is_absolute() or not target.is_relative_to(home):
        raise ModelError(f"{what}, which lies outside the folder of the model")
    if not target.is_file():
        raise ModelError(f"{what}, which does not exist beside the model")
    offset, length = _number(entries, "offset", what), _number(entries, "length", what)
    try:
        with target.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = max(size - offset, 0) if "length" not in entries else length
            if offset + length > size:
                raise ModelError(f"{what}, which has {size} bytes and should have {offset + length}")
            file.seek(offset)
            tensor.raw_data = file.read(length)
    except OSError as error:
        raise ModelError(f"{what}, which cannot be read: {error.strerror}") from error
    tensor.ClearField("data_location")
    del tensor.external_data[:]


def _number(entries: dict[str, str], key: str, what: str) -> int:
    text = entries.get(key, "0")
    if not text.isdecimal():
        raise ModelError(f"{what}, with the {key} {text!r}, which is no number")
    return int(text)
