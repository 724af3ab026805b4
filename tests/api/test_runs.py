"""`mfsim.sweep` and `mfsim.report` on files, programs and run folders."""

from __future__ import annotations

import json

import numpy as np
import pytest
from torch import nn

import mfsim
from mfsim.errors import DataError, ModelError, SweepError
from mfsim.nn import MFLinear
from mfsim.sweep import Axis


@pytest.fixture(scope="module")
def split():
    """Return random images and labels."""
    rng = np.random.default_rng(0)
    return mfsim.Split(rng.random((64, 8)).astype(np.float32), rng.integers(0, 3, 64))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, split):
    """Return a folder with float.onnx and model.onnx, and no run.json."""
    path = tmp_path_factory.mktemp("files")
    model = nn.Sequential(MFLinear(8, 4), nn.ReLU(), MFLinear(4, 3))
    mfsim.export(model, path / "float.onnx", split.images[:2])
    mfsim.export(mfsim.quantize(model, split.images), path / "model.onnx")
    return path


def test_a_sweep_needs_two_files_and_labelled_arrays(folder, split, tmp_path):
    report = mfsim.sweep(folder, "weight=2,8", split, out=tmp_path / "a", workers=1)
    assert [row.values for row in report.rows] == [(None,), (2,), (8,)]
    assert not report.failed
    again = mfsim.sweep(str(folder), [Axis("weight", (2, 8))], split, out=tmp_path / "b", workers=1)
    assert [row.figures for row in again.rows] == [row.figures for row in report.rows]


def test_a_sweep_of_a_folder_without_a_run_needs_data(folder):
    with pytest.raises(ModelError) as error:
        mfsim.sweep(folder, "weight=2")
    assert str(error.value) == f"`{folder}` is no run folder: it has no run.json; `mfsim train` makes one"
    with pytest.raises(SweepError) as refused:
        mfsim.sweep(folder, "wieght=2", "digits")
    assert str(refused.value) == "`wieght` is no axis of a sweep; did you mean `weight`?"


def test_a_report_of_a_program_alone(folder, tmp_path):
    program = mfsim.load(folder / "model.onnx")
    page = mfsim.report(program, tmp_path, title="Mine", array="mf-net-8x62")
    assert page == tmp_path / "report.html"
    content = json.loads((tmp_path / "report.json").read_text())
    (network,) = content["networks"]
    assert (content["title"], network["name"]) == ("Mine", "network")
    assert content["comparison"][0]["operations"] == mfsim.count(program).total
    assert (tmp_path / "csv" / "cim_totals.csv").is_file()


def test_names_of_programs_come_from_a_dict(folder, tmp_path):
    program = mfsim.load(folder / "model.onnx")
    mfsim.report({"one": program, "two": program}, tmp_path)
    content = json.loads((tmp_path / "report.json").read_text())
    assert [network["name"] for network in content["networks"]] == ["one", "two"]
    with pytest.raises(DataError) as error:
        mfsim.report([program, program], tmp_path)
    assert str(error.value) == "two networks of the report are called `network`"


def test_a_report_of_a_folder_that_is_no_run(folder, tmp_path):
    with pytest.raises(ModelError) as error:
        mfsim.report(folder, tmp_path)
    assert str(error.value) == f"`{folder}` is no run folder: it has no run.json; `mfsim train` makes one"
