"""`mfsim sweep` on the commands' small network."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import mfsim
from tests.cli.test_wrong_input import refused


@pytest.fixture(scope="module")
def swept(finished, tmp_path_factory):
    """Return what the command printed and the folder that it wrote; one point has failed."""
    out = tmp_path_factory.mktemp("sweep") / "out"
    shown = mfsim("sweep", finished, "--axis", "threshold=2,proved", "--images", 20, "--workers", 1, "--out", out)
    return shown, out


def test_a_failed_point_is_listed_and_is_status_one(swept):
    shown, out = swept
    assert shown.status == 1
    assert shown.stderr == "mfsim: 1 of 3 points failed; `--retry` computes them again\n"
    assert "Points; a dash is the network's own recipe" in shown.stdout
    assert "Points that failed" in shown.stdout
    assert "a threshold of layer `4.threshold` needs " in shown.stdout
    assert f"sweep: {out}" in shown.stdout


def test_json_is_the_report_and_a_second_start_computes_nothing(swept, finished):
    _, out = swept
    before = {path: path.stat().st_mtime_ns for path in (out / "points").iterdir()}
    shown = mfsim("sweep", finished, "--axis", "threshold=2,proved", "--images", 20, "--out", out, "--json")
    assert shown.status == 1
    content = json.loads((out / "sweep.json").read_text())
    assert {key: shown.json[key] for key in content} == content
    assert shown.json["folder"] == str(out)
    assert shown.json["error"] == "1 of 3 points failed; `--retry` computes them again"
    assert {path: path.stat().st_mtime_ns for path in (out / "points").iterdir()} == before


def test_one_layer_at_a_time_in_the_folder_of_the_run_and_in_its_report(folder):
    options = ["--axis", "weight=2,8", "--layers", "[16]", "--sensitivity", "--images", 20, "--workers", 1]
    shown = mfsim("sweep", folder, *options)
    assert shown.status == 0, shown.stderr
    (path,) = (folder / "sweeps").iterdir()
    rows = json.loads((path / "sweep.json").read_text())["rows"]
    assert [(row["layer"], row["values"]) for row in rows] == [
        ("", [None]),
        ("1", [2]),
        ("1", [8]),
        ("6", [2]),
        ("6", [8]),
    ]
    assert len(list((path / "points").iterdir())) == 3, "8 bits in one layer are the network's own recipe"
    report = mfsim("report", folder)
    assert report.status == 0, report.stderr
    page = (folder / "report" / "report.html").read_text()
    assert "Sensitivity of layers" in page
    assert f"Sweep {path.name}" in page
    assert (folder / "report" / "csv" / "sweeps.csv").is_file()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--axis", "wieght=2:8"], "`wieght` is no axis of a sweep; did you mean `weight`?"),
        (["--axis", "weight=8:2"], "the range `8:2` of the axis `weight` is empty: 8 is greater than 2"),
        (["--axis", "weight=1:8"], "`weight` must be in 2..32 bits, not 1"),
        (["--axis", "weight=33"], "`weight` must be in 2..32 bits, not 33"),
        ([], "a sweep needs at least one axis, such as weight=2:8"),
        (
            ["--axis", "weight=4", "--layers", "head"],
            "the pattern `head` of the axis `weight` matches no layer of the network; it has `1`, `4.entry`, "
            "`4.threshold`, `4.product`, `4.inverse`, `6`",
        ),
        (["--axis", "threshold=4", "--layers", "6"], "no layer that `6` matches has a word for the axis `threshold`"),
    ],
)
def test_wrong_axes_are_one_sentence_and_leave_no_folder(finished, tmp_path, options, sentence):
    refused(mfsim("sweep", finished, *options, "--out", tmp_path / "out"), sentence)
    assert not (tmp_path / "out").exists()


def test_a_changed_model_under_an_old_sweep(swept, finished, folder):
    import torch

    from mfsim.export.edit import open_model
    from mfsim.export.exporter import export_quantized
    from mfsim.run_folder import RunFolder
    from mfsim.workflow.steps import load_quantized

    run, (_, out) = RunFolder(folder), swept
    quantized = load_quantized(run)
    with torch.no_grad():
        quantized.model[1].weight.mul_(-1)
    export_quantized(quantized, torch.zeros(2, 1, 8, 8), run.file("model.onnx"))
    before, now = (open_model(path / "model.onnx").digest[:12] for path in (finished, folder))
    refused(
        mfsim("sweep", folder, "--axis", "threshold=4", "--images", 20, "--out", out),
        f"`{out}` is a sweep of the model {before}, and that is {now} now; choose another --out, or remove that folder",
    )


def test_a_run_that_is_not_exported(folder):
    (folder / "model.onnx").unlink()
    refused(
        mfsim("sweep", folder, "--axis", "weight=4"), f"`{folder}` has no model.onnx; run `mfsim export {folder}` first"
    )
