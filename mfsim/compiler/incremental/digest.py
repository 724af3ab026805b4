"""The digest of a model: a sha256 over the digests of its parts, so that a change of one part costs one part."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx


class ModelDigest:
    """The digest of a model whose data are inside, kept while parts of it change.

    Parts are the fields of the model and of its graph, and of repeated ones each entry. The digest is the
    sha256 over their numbers, counts and digests, in the order of the numbers.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._fields = dict(_fields(model))
        self._places = {tensor.name: k for k, tensor in enumerate(model.graph.initializer)}

    def renew(self, initializers: Iterable[str]) -> None:
        """Take in changes of `initializers`, by name, and of the metadata of the model.

        Parameters
        ----------
        initializers : iterable of str
            Names of changed initializers.
        """
        tensors, digests = self._model.graph.initializer, self._fields["graph.initializer"]
        for name in initializers:
            digests[self._places[name]] = _sha256(tensors[self._places[name]])
        self._fields["metadata_props"] = [_sha256(entry) for entry in self._model.metadata_props]

    def text(self) -> str:
        """Return the digest, 64 hexadecimal digits."""
        whole = hashlib.sha256()
        for name, digests in sorted((name, digests) for name, digests in self._fields.items() if digests):
            whole.update(f"{name} {len(digests)}\n".encode())
            whole.update(b"".join(digests))
        return whole.hexdigest()


def source_digest(model: onnx.ModelProto) -> str:
    """Return the digest of a model.

    Parameters
    ----------
    model : onnx.ModelProto
        Model.

    Returns
    -------
    str
        The text of its `ModelDigest`.
    """
    return ModelDigest(model).text()


def _fields(model: onnx.ModelProto) -> Iterator[tuple[str, list[bytes]]]:
    """Yield the name of each field that is set, and the digests of its parts."""
    for prefix, message in (("", model), ("graph.", model.graph)):
        for field, value in message.ListFields():
            if field.name != "graph":
                yield f"{prefix}{field.name}", [_sha256(part) for part in _parts(value)]


def _parts(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, (str, bytes, int, float)) or hasattr(value, "SerializeToString") else value


def _sha256(part: Any) -> bytes:
    message = hasattr(part, "SerializeToString")
    return hashlib.sha256(part.SerializeToString(deterministic=True) if message else repr(part).encode()).digest()
