"""Each command on a run folder that every step has passed."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from mfsim.analysis import count
from mfsim.run_folder import STEPS, RunFolder, load_program
from tests.cli.conftest import mfsim

STEP_COMMANDS = ["export", "check", "compile", "simulate", "count", "widths", "report"]


def test_the_pipeline_leaves_every_file(finished):
    assert {path.name for path in finished.iterdir()} == set(STEPS) - {"report"}


@pytest.mark.parametrize("command", STEP_COMMANDS)
def test_every_step_runs_again_and_prints_one_json_object(folder, command):
    for shown in (mfsim(command, folder, "--json"), mfsim(command, folder)):
        assert shown.status == (
            2 if command in ("widths", "report") and not (folder / "simulation.json").exists() else 0
        )
        if shown.stdout.startswith("{"):
            assert isinstance(shown.json, dict)
        if command in ("export", "compile"):
            break


def test_steps_one_after_the_other(tmp_path):
    out = tmp_path / "run"
    trained = mfsim("train", "--model", "tests.cli.networks:small", "--epochs", 2, "--out", out, "--json")
    assert trained.status == 0, trained.stderr
    assert trained.json["samples"] == {"train": 1257, "validation": 180, "test": 360}
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("weight = 4\nactivation = 6\n")
    quantized = mfsim("quantize", out, "--recipe", recipe, "--epochs", 1, "--json")
    assert quantized.status == 0, quantized.stderr
    assert set(quantized.json["accuracy"]) == {"float", "quantized"}
    assert "weight = 4\n" in (out / "recipe.toml").read_text()
    for command in ("export", "check", "compile"):
        shown = mfsim(command, out)
        assert shown.status == 0, shown.stderr
    simulated = mfsim("simulate", out, "--references", 2, "--json")
    assert simulated.status == 0, simulated.stderr
    assert all(pair["compared"] > 0 and pair["mismatches"] == 0 for pair in simulated.json["parity"])
    assert (
        simulated.json["accuracy"]
        == RunFolder(out).read()["accuracy"]["integer"]
        == quantized.json["accuracy"]["quantized"]
    )
    assert mfsim("count", out, "--strict-multiplication-free").status == 0
    assert mfsim("report", out).status == 0
    (network,) = json.loads((out / "report" / "report.json").read_text())["networks"]
    assert network["bit_exact"]
    assert network["multiplications"] == []


def test_a_step_that_runs_again_removes_what_was_made_from_its_old_result(folder):
    assert mfsim("quantize", folder, "--epochs", 0).status == 0
    left = {path.name for path in folder.iterdir()}
    assert left == {"run.json", "float.safetensors", "quantized.safetensors", "recipe.toml"}
    assert "integer" not in RunFolder(folder).read()["accuracy"]
    shown = mfsim("simulate", folder)
    assert (shown.status, shown.stderr) == (
        2,
        f"mfsim: `{folder}` has no integer.onnx; run `mfsim compile {folder}` first\n",
    )


def test_trained_weights_replace_training(folder, tmp_path):
    out = tmp_path / "taken"
    shown = mfsim(
        "quantize",
        "--model",
        "tests.cli.networks:small",
        "--checkpoint",
        folder / "float.safetensors",
        "--out",
        out,
        "--epochs",
        0,
    )
    assert shown.status == 0, shown.stderr
    taken, original = RunFolder(out).read(), RunFolder(folder).read()
    assert taken["accuracy"]["float"] == original["accuracy"]["float"]
    assert taken["training"]["checkpoint"] == "float.safetensors"


def test_one_program_from_folder_and_both_files(folder):
    digests = {load_program(target).digest() for target in (folder, folder / "model.onnx", folder / "integer.onnx")}
    assert len(digests) == 1
    totals = {
        mfsim("count", t, "--json").json["total"] for t in (folder, folder / "model.onnx", folder / "integer.onnx")
    }
    assert totals == {count(load_program(folder)).total}


def test_compile_into_another_file(folder, tmp_path):
    shown = mfsim("compile", folder / "model.onnx", "--out", tmp_path / "program.onnx", "--json")
    assert shown.json["digest"] == load_program(folder).digest()
    assert load_program(tmp_path / "program.onnx").digest() == shown.json["digest"]


def test_simulate_a_file_and_trace_it(folder, tmp_path):
    shown = mfsim(
        "simulate",
        folder / "integer.onnx",
        "--data",
        "digits",
        "--samples",
        20,
        "--trace",
        tmp_path / "trace",
        "--json",
    )
    assert shown.status == 0, shown.stderr
    assert shown.json["samples"] == 20
    program = load_program(folder)
    names = {path.name for path in (tmp_path / "trace").iterdir()}
    assert {"index.json"} < names
    codes = [np.load(path) for path in (tmp_path / "trace").glob("*.npy")]
    assert any(array.shape == (20, 10) for array in codes)
    assert len(codes) == len([name for name in names if name.endswith(".hex")]) >= len(program.nodes)


def test_a_part_of_the_test_set_is_not_recorded(folder):
    before = {name: (folder / name).read_bytes() for name in ("run.json", "simulation.json")}
    for more in (["--samples", 3], ["--split", "validation"], ["--data", "digits"]):
        shown = mfsim("simulate", folder, "--references", 0, "--json", *more)
        assert shown.status == 0, shown.stderr
        assert {name: (folder / name).read_bytes() for name in before} == before
    assert mfsim("simulate", folder, "--samples", 3, "--json").json["samples"] == 3


def test_batches_and_threads_change_nothing(folder):
    shown = [
        mfsim(
            "simulate",
            folder / "integer.onnx",
            "--data",
            "digits",
            "--batch-size",
            size,
            "--threads",
            threads,
            "--json",
        ).json
        for size, threads in ((64, 1), (7, 2))
    ]
    assert shown[0] == shown[1]


def test_widths_show_what_was_observed(folder):
    rows = mfsim("widths", folder, "--json").json["widths"]
    edges = [row for row in rows if row["kind"] == "edge"]
    assert all(row["proved_lo"] <= row["observed_lo"] <= row["observed_hi"] <= row["proved_hi"] for row in edges)
    assert all(row["observed_lo"] is None for row in mfsim("widths", folder / "model.onnx", "--json").json["widths"])


def test_a_dense_network_fails_the_strict_count_and_names_the_first_multiplication(tmp_path):
    out = tmp_path / "dense"
    assert mfsim("train", "--model", "tests.cli.networks:dense", "--epochs", 1, "--out", out).status == 0
    assert mfsim("quantize", out, "--epochs", 0).status == 0
    assert mfsim("export", out).status == 0
    shown = mfsim("count", out, "--strict-multiplication-free", "--json")
    assert shown.status == 1
    assert shown.json["multiplication_free"] is False
    assert shown.json["error"].endswith(
        "executes 640 mul by learned constants for each sample; a multiplication-free program has no mul, div or sqrt"
    )
    assert mfsim("count", out).status == 0


def test_check_fails_past_a_limit(folder):
    shown = mfsim("check", folder, "--min-sqnr", "400", "--json")
    assert shown.status == 1
    assert shown.json["passed"] is False
    assert shown.json["error"].endswith("dB; 400.0 dB are wanted")
    assert mfsim("check", folder, "--min-sqnr", "-10").status == 0


def test_simulate_fails_where_codes_differ(folder, finished):
    """A model.onnx that is not the quantized network's must be noticed."""
    from mfsim.quant import Recipe
    from mfsim.workflow.settings import Settings
    from mfsim.workflow.steps import export_step, quantize_step

    other = RunFolder(shutil.copytree(finished, folder.with_name("other")))
    quantize_step(other, Recipe.from_dict({"weight": 3}), Settings(quantized_epochs=0))
    export_step(other)
    shutil.copy(other.file("quantized.safetensors"), folder / "quantized.safetensors")
    shown = mfsim("simulate", folder, "--references", 0)
    assert shown.status == 1
    assert "codes differ" in shown.stderr or "no multiples of its scale" in shown.stderr


def test_ops_lists_the_registry():
    from mfsim.ops import REGISTRY

    assert [op["name"] for op in mfsim("ops", "--json").json["ops"]] == list(REGISTRY)
    shown = mfsim("ops").stdout
    assert all(f"│{name} " in shown for name in REGISTRY)


def test_exact_words_change_nothing(folder):
    plain, exact = (
        mfsim("simulate", folder / "integer.onnx", "--data", "digits", "--samples", 2, "--json", *more)
        for more in ((), ("--exact-words",))
    )
    assert exact.status == 0, exact.stderr
    assert exact.json == plain.json
    shown = mfsim("simulate", folder, "--exact-words", "--samples", 2, "--references", 0, "--json")
    assert all(pair["compared"] > 0 and pair["mismatches"] == 0 for pair in shown.json["parity"])
