"""`mfsim.train`, `quantize`, `export` and `check` on a model of one's own and numpy arrays."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import mfsim
from mfsim.errors import DataError, ExportError, ModelError, RecipeError
from mfsim.nn import MFLinear, ShiftBatchNorm1d
from mfsim.quant import QuantizedNetwork
from mfsim.simulate import dequantized
from mfsim.train import accuracy

CHANNELS, CLASSES = 16, 3


def images(count, seed=0):
    """Return float32 vectors in 0..1 of three classes, whose labels are the largest third, and these labels."""
    values = np.random.default_rng(seed).random((count, CHANNELS)).astype(np.float32)
    return values, values[:, :CLASSES].argmax(1)


def network():
    """Return a small MF network for them."""
    torch.manual_seed(0)
    return nn.Sequential(MFLinear(CHANNELS, 16), ShiftBatchNorm1d(16), nn.ReLU(), MFLinear(16, CLASSES))


@pytest.fixture(scope="module")
def split():
    return mfsim.Split(*images(400))


@pytest.fixture(scope="module")
def trained(split):
    return mfsim.train(network(), split, epochs=6, learning_rate=0.02)


@pytest.fixture(scope="module")
def quantized(trained, split):
    return mfsim.quantize(trained, split.images)


def test_a_module_is_trained_in_place_on_arrays_and_returned_in_eval_mode(split):
    model, seen = network(), []
    before = accuracy(model, mfsim.Split(*images(200, 1)))
    found = mfsim.train(model, split, epochs=6, learning_rate=0.02, progress=lambda epoch, total: seen.append(total))
    assert found is model
    assert not model.training
    assert seen == [6] * 6
    assert accuracy(model, mfsim.Split(*images(200, 1))) > before


def test_a_tenth_of_a_split_is_for_validation_and_bytes_are_divided_by_256(monkeypatch):
    values, labels = images(400)
    codes = (values * 255).astype(np.uint8)
    seen = []
    monkeypatch.setitem(mfsim.train.__wrapped__.__globals__, "fit", lambda *given, **others: seen.extend(given))
    mfsim.train(network(), mfsim.Split(codes, labels.astype(np.uint8)))
    _, train, validation = seen
    assert (len(train), len(validation)) == (360, 40)
    assert (train.images.dtype, train.labels.dtype) == (np.float32, np.int64)
    everything = np.concatenate([train.images, validation.images])
    assert np.array_equal(np.sort(everything, axis=0), np.sort(codes.astype(np.float32) / 256, axis=0))


def test_a_named_model_is_made_for_the_data():
    few = mfsim.Split(np.zeros((40, 1, 8, 8), np.float32), np.arange(40) % 4)
    model = mfsim.train("mf-mlp", few, epochs=1)
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 4)


def test_quantization_leaves_the_model_and_remembers_an_example(trained, quantized, split):
    assert isinstance(quantized, QuantizedNetwork)
    assert not quantized.training
    assert isinstance(trained[1], ShiftBatchNorm1d)
    (example,) = quantized.example
    assert np.array_equal(example, split.images[:2])


@pytest.mark.parametrize("form", ["dict", "text", "file", "recipe"])
def test_a_recipe_may_be_a_dict_a_text_a_file_or_a_recipe(form, trained, split, tmp_path):
    (tmp_path / "recipe.toml").write_text("weight = 4\n")
    given = {
        "dict": {"weight": 4},
        "text": "weight = 4",
        "file": tmp_path / "recipe.toml",
        "recipe": mfsim.Recipe.from_dict({"weight": 4}),
    }
    network = mfsim.quantize(trained, split.images[:64], given[form])
    assert network.calibration.recipe == given["recipe"]
    assert mfsim.quantize(trained, split.images[:64]).calibration.recipe == mfsim.Recipe()


def test_quantization_aware_training_changes_the_weights(trained, split):
    plain = mfsim.quantize(trained, split, {"weight": 3})
    tuned = mfsim.quantize(trained, split, {"weight": 3}, epochs=3)
    assert accuracy(tuned, split) > accuracy(plain, split)


def test_from_arrays_to_a_counted_program(trained, quantized, split, tmp_path):
    path = mfsim.export(quantized, tmp_path / "model.onnx")
    assert path == tmp_path / "model.onnx"
    alone = mfsim.check(quantized, path, split.images)
    assert alone.passed
    assert [(found.compared, found.mismatches) for found in alone.codes] == [(400 * CLASSES, 0)] * 2
    assert (alone.floats, alone.layers) == ((), ())
    assert alone.overview().name == "check_parity"
    whole = mfsim.check(quantized, path, split, float_model=trained)
    assert whole.passed
    assert whole.codes == alone.codes
    assert [found.samples for found in whole.floats] == [400, 400]
    assert [layer.name for layer in whole.layers] == ["0", "1", "2", "3"]
    program = mfsim.load(path)
    assert not mfsim.count(program).multiplications()
    with torch.no_grad():
        expected = quantized(torch.from_numpy(split.images)).numpy()
    (values,) = dequantized(program, mfsim.simulate(program, split.images).outputs).values()
    assert np.array_equal(values, expected)


def test_a_file_of_another_network_does_not_pass(trained, quantized, split, tmp_path):
    other = mfsim.export(mfsim.quantize(trained, split.images, {"weight": 3}), tmp_path / "other.onnx")
    report = mfsim.check(quantized, other, split.images)
    assert not report.passed
    assert report.reasons[0].startswith("model.onnx with optimisations on differs from the quantized model in ")


def test_a_float_network_is_exported_with_an_example(trained, split, tmp_path):
    path = mfsim.export(trained, tmp_path / "float.onnx", split.images[:2])
    with pytest.raises(mfsim.MfsimError):
        mfsim.load(path)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (
            lambda: mfsim.train(network(), images(4)),
            DataError,
            "`data` must be a data set, its name, or `Split(images, labels)`, not tuple",
        ),
        (
            lambda: mfsim.train(network(), mfsim.Split(np.zeros((4, 16), np.int64), np.zeros(4, int))),
            DataError,
            "`images` must be at least 2 samples [N, ...] of floats or uint8, not int64 (4, 16)",
        ),
        (
            lambda: mfsim.train(network(), mfsim.Split(np.full((4, 16), np.nan), np.zeros(4, int))),
            DataError,
            "`images` hold NaN or infinite values",
        ),
        (
            lambda: mfsim.train(network(), mfsim.Split(images(4)[0], np.zeros(4))),
            DataError,
            "`labels` must hold one integer for each of the 4 images, not float64 (4,)",
        ),
        (
            lambda: mfsim.train(network(), mfsim.Split(np.zeros((4, 15), np.float32), np.zeros(4, int))),
            ModelError,
            "the model cannot run on images of the shape (15,): "
            "x (1, 15) must end in K, and w must end in [K, O], not (16, 16)",
        ),
        (
            lambda: mfsim.quantize(network(), images(4)[0], epochs=1),
            DataError,
            "quantization-aware training needs labels: `data` must be a data set, its name, or "
            "`Split(images, labels)`, not ndarray",
        ),
        (
            lambda: mfsim.quantize(network(), images(4)[0], {"wieght": 4}),
            RecipeError,
            "`wieght` is no key of a recipe; did you mean `weight`?",
        ),
        (
            lambda: mfsim.export(network(), "model.onnx"),
            ExportError,
            "`example` must be inputs of the right shape, such as images[:2], for a network that has none",
        ),
    ],
)
def test_bad_input(call, kind, sentence):
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("model", lambda: mfsim.train(3, "digits")),
        ("model", lambda: mfsim.quantize(3, np.zeros((2, 1, 8, 8), np.float32))),
        ("model", lambda: mfsim.export(3, "model.onnx")),
        ("quantized", lambda: mfsim.check(3, "model.onnx", "digits")),
    ],
)
def test_what_is_no_module_is_said_first(name, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as error:
        call()
    assert str(error.value) == f"`{name}` must be a torch module, not 3"
    assert not list(tmp_path.iterdir())
