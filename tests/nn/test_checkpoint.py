"""Float weights in safetensors files."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mfsim.errors import MfsimError, ModelError
from mfsim.nn.checkpoint import load_checkpoint, save_checkpoint


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    return model, save_checkpoint(model, tmp_path / "weights.safetensors")


def test_round_trip(saved, tmp_path):
    model, path = saved
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    assert load_checkpoint(other, path) is other
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name
    assert [p.name for p in tmp_path.iterdir()] == ["weights.safetensors"]


def test_layers_that_share_a_weight(tmp_path):
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    model = nn.Sequential(first, second, first)
    loaded = load_checkpoint(copy.deepcopy(model), save_checkpoint(model, tmp_path / "weights.safetensors"))
    assert loaded[0].weight is loaded[1].weight
    assert torch.equal(loaded[1].weight, first.weight)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (nn.Sequential(nn.Linear(3, 2)), "does not suit the model: it has an extra tensor `1.bias`"),
        (
            nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 1)),
            "does not suit the model: it lacks tensor `2.bias`",
        ),
    ],
)
def test_another_architecture(saved, model, sentence):
    _, path = saved
    with pytest.raises(ModelError) as error:
        load_checkpoint(model, path)
    assert str(error.value) == f"the checkpoint `{path}` {sentence}"


def test_another_shape(saved):
    _, path = saved
    with pytest.raises(ModelError) as error:
        load_checkpoint(nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)), path)
    assert str(error.value) == f"tensor `0.weight` of the checkpoint `{path}` must have the shape (2, 4), not (2, 3)"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_are_none(saved, value):
    model, path = saved
    with torch.no_grad():
        model[0].bias[1] = value
    save_checkpoint(model, path)
    with pytest.raises(ModelError) as error:
        load_checkpoint(model, path)
    assert str(error.value) == f"tensor `0.bias` of the checkpoint `{path}` holds NaN or infinite values"


@pytest.mark.parametrize("content", [None, b"", b"not safetensors"])
def test_damaged_files(saved, content):
    model, path = saved
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as error:
        load_checkpoint(model, path)
    assert str(error.value).startswith(f"the checkpoint `{path}` cannot be read: ")


def test_a_folder_that_is_not_there(saved, tmp_path):
    with pytest.raises(MfsimError) as error:
        save_checkpoint(saved[0], tmp_path / "none" / "weights.safetensors")
    assert str(error.value) == f"`{tmp_path}/none/weights.safetensors` cannot be written: No such file or directory"
