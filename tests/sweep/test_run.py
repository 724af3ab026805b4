"""A sweep from axes to files: figures, going on, failures, and whose folder it is."""

from __future__ import annotations

import csv
import importlib
import json
import shutil
from dataclasses import replace

import pytest
import torch

from mfsim.analysis import count, energy
from mfsim.compiler import compile_model
from mfsim.errors import ModelError, SweepError
from mfsim.export.edit import open_model
from mfsim.export.exporter import export_quantized
from mfsim.simulate import accuracy
from mfsim.sweep import parse_axes, read_sweeps, sweep, write_sweep
from mfsim.sweep.run import default_name
from mfsim.sweep.store import SweepFolder
from mfsim.workflow.steps import load_quantized


def stamps(folder):
    """Return which point files there are, and when each was written."""
    paths = (folder / "points").glob("[!.]*")
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths}


@pytest.fixture(scope="session")
def swept(exported, images, tmp_path_factory):
    """Return a sweep of two axes; tests must not change it."""
    folder = tmp_path_factory.mktemp("swept") / "sweep"
    report = sweep(exported, images, parse_axes(["weight=2,8", "activation=3,8"]), out=folder, workers=2)
    return folder, report


@pytest.fixture
def again(swept, tmp_path):
    """Return a copy of the sweep's folder."""
    return shutil.copytree(swept[0], tmp_path / "sweep")


def test_every_point_has_the_figures_of_its_own_program(swept, exported, images):
    _, report = swept
    assert [row.values for row in report.rows] == [(None, None), (2, 3), (2, 8), (8, 3), (8, 8)]
    assert report.failed == ()
    opened = open_model(exported.file("model.onnx"))
    assert report.own.accuracy == accuracy(compile_model(exported.file("model.onnx")), images.images, images.labels)
    for row in report.finished:
        recipe = opened.recipe.from_dict(opened.recipe.to_dict() | dict(zip(report.axes, row.values, strict=True)))
        opened.set_formats(recipe)
        program = opened.program()
        found = row.figures
        assert found.accuracy == accuracy(program, images.images, images.labels) == found.correct / 60
        assert found.operations == count(program).total
        assert found.pj == energy(count(program)).total_pj


def test_words_decide(swept):
    by_values = {row.values: row.figures for row in swept[1].rows}
    assert by_values[8, 8] == by_values[None, None], "8 bits everywhere is the network's own recipe"
    assert by_values[2, 3].sqnr_db < by_values[8, 3].sqnr_db < by_values[8, 8].sqnr_db
    assert by_values[2, 3].weight_bits < by_values[8, 3].weight_bits < by_values[8, 8].weight_bits
    assert by_values[8, 3].accumulator_bits < by_values[8, 8].accumulator_bits
    assert by_values[2, 3].pj < by_values[8, 8].pj


def test_points_with_one_recipe_are_computed_once(swept):
    assert len(stamps(swept[0])) == 4, "of five points, two have the same recipe"


def test_files_say_what_the_report_says(swept):
    folder, report = swept
    assert json.loads((folder / "sweep.json").read_text()) == json.loads(json.dumps(report.to_json()))
    rows = list(csv.DictReader((folder / "sweep.csv").read_text().splitlines()))
    assert [int(row["correct"]) for row in rows] == [row.figures.correct for row in report.rows]
    assert sorted(path.name for path in folder.iterdir()) == [
        "accuracy-activation.svg",
        "accuracy-weight.svg",
        "plan.json",
        "points",
        "sweep.csv",
        "sweep.json",
    ]


def test_a_second_start_computes_nothing_and_writes_the_same(swept, again, exported, images, monkeypatch):
    monkeypatch.setattr(importlib.import_module("mfsim.sweep.run"), "spread", None)
    before = stamps(again)
    report = sweep(exported, images, parse_axes(["weight=2,8", "activation=3,8"]), out=again)
    assert report == swept[1]
    assert stamps(again) == before
    for name in ("sweep.csv", "sweep.json"):
        assert (again / name).read_bytes() == (swept[0] / name).read_bytes()


def test_more_values_cost_only_the_new_points(again, exported, images):
    before, steps = stamps(again), []
    report = sweep(
        exported,
        images,
        parse_axes(["weight=2,8", "activation=3,5,8"]),
        out=again,
        workers=1,
        progress=lambda *step: steps.append(step),
    )
    assert len(report.rows) == 7
    after = stamps(again)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 2
    assert steps[1:] == [("sweep", 4, 6), ("sweep", 5, 6), ("sweep", 6, 6)]


def test_a_failed_point_keeps_its_sentence_until_it_is_tried_again(swept, again, exported, images, monkeypatch):
    folder = SweepFolder(again)
    key = next(path.stem for path in folder.points.iterdir())
    folder.write(key, {"figures": None, "error": "it failed"})
    axes = parse_axes(["weight=2,8", "activation=3,8"])
    with monkeypatch.context() as patched:
        patched.setattr(importlib.import_module("mfsim.sweep.run"), "spread", None)
        report = sweep(exported, images, axes, out=again)
    assert {row.error for row in report.failed} == {"it failed"}
    assert "it failed" in (again / "sweep.csv").read_text()
    others = {name: stamp for name, stamp in stamps(again).items() if name != f"{key}.json"}
    assert sweep(exported, images, axes, out=again, workers=1, retry=True) == swept[1]
    assert others.items() < stamps(again).items()


def test_one_layer_at_a_time(exported, images, tmp_path):
    report = sweep(exported, images.first(8), parse_axes(["weight=2"]), sensitivity=True, out=tmp_path / "s")
    layers = [path for path, keys in open_model(exported.file("model.onnx")).keys.items() if "weight" in keys]
    assert [row.layer for row in report.rows] == ["", *layers]
    assert len(layers) > 1
    assert (tmp_path / "s" / "sensitivity.svg").is_file()


def train_again(run):
    """Export the network with other weights."""
    quantized = load_quantized(run)
    with torch.no_grad():
        quantized.model[1].weight.mul_(-1)
    export_quantized(quantized, torch.zeros(2, 1, 8, 8), run.file("model.onnx"))


def test_another_model_is_refused_by_name(again, run, images):
    before = open_model(run.file("model.onnx")).digest
    train_again(run)
    now = open_model(run.file("model.onnx")).digest
    assert now != before
    with pytest.raises(SweepError) as refused:
        sweep(run, images, parse_axes(["weight=2"]), out=again)
    assert str(refused.value) == (
        f"`{again}` is a sweep of the model {before[:12]}, and that is {now[:12]} now; choose another --out, or remove that folder"
    )


def test_other_images_are_refused(again, exported, images):
    with pytest.raises(SweepError, match="is a sweep of the images "):
        sweep(exported, images.first(59), parse_axes(["weight=2"]), out=again)


def test_a_network_that_is_not_exported(run, images):
    run.file("model.onnx").unlink()
    with pytest.raises(ModelError) as refused:
        sweep(run, images, parse_axes(["weight=2"]))
    assert str(refused.value) == f"`{run}` has no model.onnx; run `mfsim export {run}` first"


def test_no_workers(exported, images):
    with pytest.raises(SweepError) as refused:
        sweep(exported, images, parse_axes(["weight=2"]), workers=0)
    assert str(refused.value) == "`workers` must be at least 1, not 0"


def test_an_interruption_leaves_tables_of_what_is_there(again, exported, images, monkeypatch):
    def interrupted(setup, tasks, workers):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(importlib.import_module("mfsim.sweep.run"), "spread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(exported, images, parse_axes(["weight=2,8", "activation=3,5,8"]), out=again)
    content = json.loads((again / "sweep.json").read_text())
    assert (content["points"], content["missing"], len(content["rows"])) == (7, 2, 5)


def test_pictures_of_an_earlier_call_do_not_stay(swept, again):
    write_sweep(replace(swept[1], rows=swept[1].rows[:1]), again)
    assert list(again.glob("*.svg")) == []


def test_the_folder_is_named_by_what_is_asked_for(images):
    axes = parse_axes(["weight=2", "activation=4"])
    names = [
        default_name(axes, ["weight=2"], "data"),
        default_name(axes, ["weight=3"], "data"),
        default_name(axes, ["weight=2"], "other"),
    ]
    assert len(set(names)) == 3
    assert all(name.startswith("weight-activation-") for name in names)


def test_sweeps_of_a_run_folder_and_which_are_outdated(run, swept):
    assert read_sweeps(run) == ()
    shutil.copytree(swept[0], run.path / "sweeps" / "a")
    (found,) = read_sweeps(run)
    assert found == swept[1]
    train_again(run)
    assert [report.outdated for report in read_sweeps(run)] == [True]
