"""Files that are written whole or not at all, by everything that writes one."""

from __future__ import annotations

import os
import pathlib
import stat

import onnx
import pytest
import torch
from torch import nn

from mfsim import quant
from mfsim.analysis.listing import write_text
from mfsim.errors import ExportError, MfsimError
from mfsim.files import write_whole
from mfsim.nn import MFLinear
from mfsim.nn.checkpoint import save_checkpoint
from mfsim.serialize.files import write_model

NETWORK = nn.Sequential(MFLinear(2, 2))


def quantized():
    return quant.quantize(NETWORK, quant.Recipe(), torch.rand(8, 2))


WRITERS = {
    "bytes": lambda path: write_whole(path, b"\x00\r\n"),
    "text": lambda path: write_text(path, "a\nb"),
    "model": lambda path: write_model(onnx.ModelProto(ir_version=10), path),
    "checkpoint": lambda path: save_checkpoint(NETWORK, path),
    "quantized": lambda path: quant.save(quantized(), path),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_permissions_are_those_of_any_new_file(writer, tmp_path):
    mask = os.umask(0o027)
    try:
        path = WRITERS[writer](tmp_path / "file")
    finally:
        os.umask(mask)
    assert path == tmp_path / "file"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_failure_leaves_the_older_file(writer, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("older")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "replace", fail)
    with pytest.raises(MfsimError) as error:
        WRITERS[writer](tmp_path / "file")
    assert str(error.value) == f"`{tmp_path}/file` cannot be written: No space left on device"
    assert (writer == "model") == isinstance(error.value, ExportError)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"file": "older"}
