"""integer.onnx is written whole or not at all, with the same bytes each time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from mfsim.errors import ExportError
from mfsim.serialize.write import integer_model, write_integer
from tests.serialize.networks import NETWORKS, transform

HASHES = """
import hashlib
from mfsim.serialize.write import integer_model
from tests.serialize.networks import NETWORKS
for build in NETWORKS.values():
    print(hashlib.sha256(integer_model(build()).SerializeToString(deterministic=True)).hexdigest())
"""


def test_bytes_do_not_depend_on_the_process():
    outputs = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        run = subprocess.run(
            [sys.executable, "-c", HASHES], capture_output=True, text=True, env=environment, check=True
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == len(NETWORKS)


def test_bytes_do_not_depend_on_the_order_of_metadata():
    program = transform()
    turned = replace(program, metadata=dict(reversed(program.metadata.items())))
    assert integer_model(turned).SerializeToString() == integer_model(program).SerializeToString()


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "integer.onnx"
    path.write_text("old")
    write_integer(transform(), path)
    assert path.read_bytes() == integer_model(transform()).SerializeToString(deterministic=True)
    assert [p.name for p in tmp_path.iterdir()] == ["integer.onnx"]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "none" / "integer.onnx"
    with pytest.raises(ExportError) as caught:
        write_integer(transform(), path)
    assert str(caught.value) == f"`{path}` cannot be written: No such file or directory"
