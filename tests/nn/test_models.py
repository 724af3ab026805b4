"""Networks by name and by path: shapes, seeds, and every way a path can fail."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from mfsim.errors import ModelError, ShapeError, UnsupportedOpError
from mfsim.nn import WHTLayer, models


@pytest.mark.parametrize("name", models.IMAGE_NAMES)
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (2, 4, 6)])
def test_every_model_takes_every_image(name, shape):
    model = models.create(name, shape, 7)
    assert model(torch.rand(3, *shape)).shape == (3, 7)
    model.eval()
    assert model(torch.rand(1, *shape)).shape == (1, 7)


def test_the_networks_have_the_layers_of_their_names():
    names = ("mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn")
    kinds = {name: [type(layer).__name__ for layer in models.create(name)] for name in names}
    assert not any(kind.startswith("MF") for kind in kinds["dense-cnn"])
    assert not {"Conv2d", "Linear", "BatchNorm2d"} & {k for n in ("mf-mlp", "mf-cnn", "wht-cnn") for k in kinds[n]}
    assert kinds["wht-cnn"].count("WHTLayer") == 2
    dense = [kind.removeprefix("Shift").removeprefix("MF") for kind in kinds["mf-cnn"]]
    assert dense[:-1] == kinds["dense-cnn"]  # the last is the batch norm of the logits


def test_seeds_give_equal_weights_and_leave_the_random_state():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second, other = (models.create("mf-mlp", seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_options():
    model = models.create("wht-cnn", width=6, form="abs", size="pad")
    assert model.wht2.padded == (16,)
    assert {layer.product.form for layer in model if isinstance(layer, WHTLayer)} == {"abs"}


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "sentence"),
    [
        (
            ("mf-cmn",),
            {},
            ModelError,
            f"a model must be one of {', '.join(models.NAMES)}, or package.module:callable, not 'mf-cmn'; "
            "did you mean `mf-cnn`?",
        ),
        (("mf-cnn", (8, 8)), {}, ShapeError, "`input_shape` must be three ints (C, H, W) of at least 1, not (8, 8)"),
        (("mf-cnn", (1, 8, 8), 1), {}, ShapeError, "`classes` must be at least 2, not 1"),
        (
            ("mf-cnn", (1, 9, 8)),
            {},
            ShapeError,
            "images must have even sides, so that they can be padded evenly, not 9 x 8",
        ),
        (
            ("mf-cnn",),
            {"witdh": 8},
            UnsupportedOpError,
            "the model 'mf-cnn' has no option `witdh`; did you mean `width`?",
        ),
        (
            ("wht-cnn",),
            {"width": 6},
            ShapeError,
            "the length of a Walsh-Hadamard transform must be a power of two, not 12; "
            "use `size` pad (zeros up to 16) or block (blocks of 4)",
        ),
    ],
)
def test_refused(arguments, options, kind, sentence):
    with pytest.raises(kind) as error:
        models.create(*arguments, **options)
    assert str(error.value) == sentence


OWN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 2)

class Holder:
    build = Net

def sized(input_shape, classes, width=3):
    return nn.Sequential(nn.Flatten(), nn.Linear(input_shape[0] * width, classes))

def breaks():
    raise RuntimeError("no luck")

def number():
    return 5

constant = 5
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write modules of a user's own to the current folder."""
    (tmp_path / "own_networks.py").write_text(OWN)
    (tmp_path / "broken_networks.py").write_text("1 / 0")
    (tmp_path / "needy_networks.py").write_text("import not_installed_anywhere")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield
    assert sys.path == path
    for name in ("own_networks", "broken_networks", "needy_networks"):
        sys.modules.pop(name, None)


def test_own_models(own):
    assert isinstance(models.create("own_networks:Net"), nn.Module)
    assert isinstance(models.resolve("own_networks:Holder.build")(), nn.Module)
    assert models.create("own_networks:sized", (2, 1, 1), 3)[1].weight.shape == (3, 6)
    assert models.create("own_networks:sized", (2, 1, 1), 3, width=1)[1].weight.shape == (3, 2)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("no_networks:Net", "there is no module `no_networks` for the model 'no_networks:Net'"),
        (
            "own_networks.inner:Net",
            "there is no module `own_networks.inner` for the model 'own_networks.inner:Net'",
        ),
        (
            "needy_networks:Net",
            "the module `needy_networks` of the model 'needy_networks:Net' needs `not_installed_anywhere`, "
            "which is not installed",
        ),
        (
            "broken_networks:Net",
            "the module `broken_networks` of the model 'broken_networks:Net' cannot be imported: "
            "ZeroDivisionError: division by zero",
        ),
        ("own_networks:Nett", "the module `own_networks` has no `Nett`; did you mean `Net`?"),
        ("own_networks:constant", "`own_networks:constant` must be a class or function that makes a module, not int"),
        ("own_networks:breaks", "the model 'own_networks:breaks' cannot be made: RuntimeError: no luck"),
        ("own_networks:number", "the model 'own_networks:number' must return a torch.nn.Module, not int"),
        (
            "own_networks:",
            f"a model must be one of {', '.join(models.NAMES)}, or package.module:callable, not 'own_networks:'",
        ),
    ],
)
def test_paths_that_are_refused(own, path, sentence):
    with pytest.raises(ModelError) as error:
        models.create(path)
    assert str(error.value) == sentence
