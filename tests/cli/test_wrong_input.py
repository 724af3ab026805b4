"""Wrong input of every kind: one clear sentence, exit status 2, and no half-written file."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import onnx
import pytest
import safetensors.numpy
from onnx import TensorProto, helper

from mfsim.nn import models
from tests.cli.conftest import mfsim


def refused(shown, sentence: str, status: int = 2) -> None:
    """Check that a command ended with exactly one sentence on stderr."""
    assert shown.stderr == f"mfsim: {sentence}\n"
    assert shown.status == status
    assert shown.stdout == ""


def listed(folder: pathlib.Path) -> dict[str, int]:
    """Return every file below `folder` and when it was written."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def train(model: str, out: pathlib.Path, *more: object):
    """Train for one epoch."""
    return mfsim("train", "--model", model, "--epochs", 1, "--out", out, *more)


def test_a_transform_of_twelve(tmp_path):
    refused(
        train("tests.cli.networks:odd", tmp_path / "run"),
        "the length of a Walsh-Hadamard transform must be a power of two, not 12; use `size` pad (zeros up to 16) or block (blocks of 4)",
    )
    assert listed(tmp_path) == {}


def test_an_unknown_model(tmp_path):
    refused(
        train("mf-cnm", tmp_path / "run"),
        f"a model must be one of {', '.join(models.NAMES)}, or package.module:callable, not 'mf-cnm'; "
        "did you mean `mf-cnn`?",
    )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("model", ["tests.cli.networks:smal", "no.such.module:network", "tests.cli.networks:Sine"])
def test_a_model_that_is_no_network(model, tmp_path):
    shown = train(model, tmp_path / "run")
    assert shown.status == 2
    assert shown.stderr.count("\n") == 1


def test_unknown_data(tmp_path):
    refused(
        train("tests.cli.networks:small", tmp_path / "run", "--data", "digit"),
        "`data` must be digits, fashion-mnist, a folder of pictures, CIFAR-10 batches or IDX files, an .npz file or CIFAR-10's archive, not 'digit'; did you mean `digits`?",
    )


def test_data_of_another_shape(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {
        f"{kind}_{split}": value
        for split, n in (("train", 40), ("test", 10))
        for kind, value in (("x", rng.random((n, 9, 9), np.float32)), ("y", np.arange(n) % 10))
    }
    np.savez(tmp_path / "nine.npz", **arrays)
    shown = train("tests.cli.networks:small", tmp_path / "run", "--data", tmp_path / "nine.npz")
    refused(
        shown,
        "the model cannot run on images of the shape (1, 9, 9): x (2, 81) must end in K, and w must end in [K, O], not (64, 16)",
    )


def test_a_checkpoint_with_nan(folder, tmp_path):
    weights = safetensors.numpy.load_file(folder / "float.safetensors")
    weights["1.weight"][0, 0] = np.nan
    safetensors.numpy.save_file(weights, tmp_path / "nan.safetensors")
    shown = mfsim(
        "quantize",
        "--model",
        "tests.cli.networks:small",
        "--checkpoint",
        tmp_path / "nan.safetensors",
        "--out",
        tmp_path / "run",
    )
    refused(shown, f"tensor `1.weight` of the checkpoint `{tmp_path}/nan.safetensors` holds NaN or infinite values")
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize(("bits", "status"), [(1, 2), (40, 2)])
def test_words_of_one_and_forty_bits(folder, tmp_path, bits, status):
    (tmp_path / "recipe.toml").write_text(f"weight = {bits}\n")
    before = listed(folder)
    refused(
        mfsim("quantize", folder, "--recipe", tmp_path / "recipe.toml"),
        f"`weight` must be in 2..32 bits, not {bits}",
        status,
    )
    assert listed(folder) == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("wieght = 4\n", "`wieght` is no key of a recipe; did you mean `weight`?"),
        ("[layers.head]\nweight = 4\n", "`layers.head` matches no layer of the network"),
    ],
)
def test_a_recipe_that_suits_nothing(folder, tmp_path, text, sentence):
    (tmp_path / "recipe.toml").write_text(text)
    shown = mfsim("quantize", folder, "--recipe", tmp_path / "recipe.toml")
    assert shown.status == 2
    assert shown.stderr.startswith(f"mfsim: {sentence}")
    assert shown.stderr.count("\n") == 1


def test_a_layer_that_cannot_be_quantized(tmp_path):
    assert train("tests.cli.networks:unknown", tmp_path / "run").status == 0
    before = listed(tmp_path)
    shown = mfsim("quantize", tmp_path / "run", "--epochs", 0)
    assert shown.status == 2
    assert shown.stderr.startswith("mfsim: layer `2` (Sine) cannot be quantized; ")
    assert listed(tmp_path) == before


@pytest.mark.parametrize("command", ["count", "widths", "compile"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (None, "is truncated or no ONNX file"), (b"hello\n", "is truncated or no ONNX file")],
)
def test_damaged_files(finished, tmp_path, command, content, sentence):
    path = tmp_path / "model.onnx"
    path.write_bytes((finished / "model.onnx").read_bytes()[:1000] if content is None else content)
    refused(mfsim(command, path), f"model file `{path}` {sentence}")
    assert {p.name for p in tmp_path.iterdir()} == {"model.onnx"}


def model_of(node: onnx.NodeProto, *constants: onnx.TensorProto) -> onnx.ModelProto:
    """Return a model of one node on x [N, 4]."""
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        list(constants),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_an_unknown_op(finished, tmp_path):
    model = onnx.load(finished / "model.onnx")
    (node,) = [node for node in model.graph.node if node.name == "3/Relu"]
    node.op_type = "Softsign"
    onnx.save(model, tmp_path / "model.onnx")
    shown = mfsim("compile", tmp_path / "model.onnx")
    assert shown.status == 2
    assert shown.stderr.startswith("mfsim: node `3/Relu` has the op Softsign ")
    assert shown.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"model.onnx"}


def test_external_data_outside_the_folder(tmp_path):
    weights = helper.make_tensor("w", TensorProto.FLOAT, [4], np.zeros(4, np.float32).tobytes(), raw=True)
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key, entry.value = "location", "../../etc/passwd"
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(helper.make_node("Add", ["x", "w"], ["y"], name="add"), weights).SerializeToString())
    refused(
        mfsim("count", path),
        "tensor `w` keeps its data in the file `../../etc/passwd`, which lies outside the folder of the model",
    )


def test_images_of_another_shape(finished, tmp_path):
    np.savez(
        tmp_path / "nine.npz",
        x_train=np.zeros((20, 9, 9), np.float32),
        y_train=np.arange(20) % 10,
        x_test=np.zeros((10, 9, 9), np.float32),
        y_test=np.arange(10),
    )
    refused(
        mfsim("simulate", finished / "integer.onnx", "--data", tmp_path / "nine.npz"),
        "the input `input` must have the shape (batch, 1, 8, 8), not (10, 1, 9, 9)",
    )
    refused(
        mfsim("check", finished, "--data", tmp_path / "nine.npz"),
        "the images of `nine` must have the shape (1, 8, 8), not (1, 9, 9)",
    )


def test_a_folder_that_is_no_run_folder(tmp_path):
    refused(mfsim("export", tmp_path), f"`{tmp_path}` is no run folder: it has no run.json; `mfsim train` makes one")
    refused(mfsim("export", tmp_path / "none"), f"there is no folder `{tmp_path / 'none'}`")


def test_a_step_too_early(tmp_path):
    assert train("tests.cli.networks:small", tmp_path / "run").status == 0
    for command, name, step in (("export", "quantized.safetensors", "quantize"), ("compile", "model.onnx", "export")):
        sentence = f"`{tmp_path}/run` has no {name}; run `mfsim {step} {tmp_path}/run` first"
        refused(mfsim(command, tmp_path / "run"), sentence)


def test_a_damaged_run_json(folder):
    (folder / "run.json").write_text("[]")
    refused(mfsim("export", folder), f"`{folder}/run.json` must hold a JSON object, not a list")
    (folder / "run.json").write_text("{")
    assert mfsim("export", folder).status == 2
    (folder / "run.json").write_text('{"name": "n", "model": 3}')
    refused(mfsim("quantize", folder), f"`{folder}/run.json` must have a str under `model`; `mfsim train` writes it")


def test_an_output_folder_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    for command in (["train", "--model", "mf-mlp"], ["demo"]):
        shown = mfsim(*command, "--out", tmp_path / "file")
        refused(shown, f"`{tmp_path}/file` must be a folder, and it is a file")
        shown = mfsim(*command, "--out", tmp_path / "file" / "run")
        refused(shown, f"the folder `{tmp_path}/file/run` cannot be made: Not a directory")


@pytest.mark.skipif(not pathlib.Path("/proc/self").is_dir(), reason="needs a folder that not even root can write to")
def test_a_read_only_output_folder(finished):
    for command in (["train", "--model", "mf-mlp"], ["demo"]):
        shown = mfsim(*command, "--out", "/proc/self")
        assert shown.status == 2
        assert shown.stderr.startswith("mfsim: the folder `/proc/self` cannot be written to: ")
        assert shown.stderr.count("\n") == 1
    shown = mfsim("compile", finished / "model.onnx", "--out", "/proc/self/integer.onnx")
    assert shown.status == 2
    assert shown.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_without_permission(finished, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    shown = mfsim("train", "--model", "mf-mlp", "--out", tmp_path / "closed")
    refused(shown, f"the folder `{tmp_path}/closed` cannot be written to: Permission denied")


def test_usage():
    for arguments in (
        ["quantize"],
        ["quantize", "--model", "mf-mlp"],
        ["simulate"],
        ["train"],
        ["count", "x", "--rule", "half"],
    ):
        shown = mfsim(*arguments)
        assert shown.status == 2
        assert "Usage: " in shown.stderr
        assert shown.stdout == ""
