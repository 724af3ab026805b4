"""Write an ONNX file whole or not at all, and with the same bytes for the same model."""

from __future__ import annotations

import os
import pathlib
import tempfile

import onnx

from mfsim.errors import ExportError


def write_model(model: onnx.ModelProto, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write `model` to `path` and return the path.

    Raises
    ------
    ExportError
        If the file cannot be written; nothing half-written is left behind.
    """
    path = pathlib.Path(path)
    data = model.SerializeToString(deterministic=True)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = pathlib.Path(file.name)
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # a temporary file is private; the file that a user asked for is not
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ExportError(f"`{path}` cannot be written: {error.strerror or error}") from error
    return path
