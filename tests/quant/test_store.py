"""Saving and loading: the same outputs from the same architecture, and one sentence for anything else."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import save_file

from mfsim.errors import MfsimError, ModelError
from mfsim.quant import Recipe, fold, load, quantize, save
from tests.quant.networks import NETWORKS, images, settled

RECIPE = {"per_channel": True, "weight": 5, "input": 7, "layers": {"*": {"accumulator": 20}}}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("recipe", [{}, RECIPE])
def test_a_loaded_network_gives_the_same_codes(name, recipe, tmp_path):
    network = quantize(fold(settled(NETWORKS[name]()), images(2)), Recipe.from_dict(recipe), images())
    path = save(network, tmp_path / "quantized.safetensors")
    loaded = load(path, NETWORKS[name]())
    assert torch.equal(loaded(images(40, 9)), network(images(40, 9)))
    assert not loaded.training
    again = save(loaded, tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.safetensors", "quantized.safetensors"]


def test_files_that_are_no_quantized_network(tmp_path):
    model = NETWORKS["mf-mlp"]()
    with pytest.raises(ModelError, match=r"^the quantized network `.*none` cannot be read: "):
        load(tmp_path / "none", model)
    (tmp_path / "cut").write_bytes(b"\x10\x00\x00")
    with pytest.raises(ModelError, match=r"^the quantized network `.*cut` cannot be read: "):
        load(tmp_path / "cut", model)
    for number, text in enumerate((None, "{", "[1]", '{"version": 0}')):
        path = tmp_path / f"other{number}"
        save_file({"a": torch.zeros(2)}, path, None if text is None else {"mfsim": text})
        with pytest.raises(ModelError, match=r"is no quantized network of this version of mfsim$"):
            load(path, model)
    save_file({"a": torch.zeros(2)}, tmp_path / "odd", {"mfsim": '{"version": 2}'})
    with pytest.raises(ModelError, match=r"does not suit the model: "):
        load(tmp_path / "odd", model)


def test_another_architecture_is_refused(tmp_path):
    network = quantize(fold(settled(NETWORKS["mf-mlp"]()), images(2)), Recipe(), images())
    path = save(network, tmp_path / "quantized.safetensors")
    with pytest.raises(ModelError, match=r"does not suit the model: "):
        load(path, NETWORKS["wht-cnn"]())
    with pytest.raises(ModelError, match=r"does not suit the model: "):
        load(path, NETWORKS["residual"]())


def test_a_folder_that_is_not_there_leaves_nothing_behind(tmp_path):
    network = quantize(fold(settled(NETWORKS["mf-mlp"]()), images(2)), Recipe(), images())
    with pytest.raises(MfsimError, match=r"cannot be written: No such file or directory$"):
        save(network, tmp_path / "missing" / "quantized.safetensors")
    assert not list(tmp_path.iterdir())
