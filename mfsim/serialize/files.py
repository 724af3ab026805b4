"""Write an ONNX file whole or not at all, and with the same bytes for the same model."""

from __future__ import annotations

import os
import pathlib

import onnx

from mfsim.errors import ExportError
from mfsim.files import write_whole


def write_model(model: onnx.ModelProto, path: str | os.PathLike[str]) -> pathlib.Path:
    """Write `model` to `path` and return the path.

    Parameters
    ----------
    model : onnx.ModelProto
        Model; equal models give equal bytes.
    path : str or path
        File in a folder that is there.

    Returns
    -------
    path
        The file.

    Raises
    ------
    ExportError
        If the file cannot be written; nothing half-written is left behind.
    """
    return write_whole(path, model.SerializeToString(deterministic=True), ExportError)
