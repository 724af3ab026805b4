"""Keys: everything that can change a result changes them, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from mfsim.data import Split
from mfsim.quant.recipe import Recipe
from mfsim.sweep import keys
from mfsim.sweep.keys import code_digest, data_digest, point_key

SPLIT = Split(np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2) / 8, np.array([0, 1]))
DIGESTS = {"model": "a", "float": "b", "data": "c"}


def test_recipe_model_float_network_and_data_are_in_the_key(monkeypatch):
    others = [
        point_key(Recipe(), **DIGESTS),
        point_key(Recipe(output=8), **DIGESTS),
        point_key(Recipe(layers={"a": {"weight": 4}, "*": {"weight": 5}}), **DIGESTS),
        point_key(Recipe(layers={"*": {"weight": 5}, "a": {"weight": 4}}), **DIGESTS),
        *(point_key(Recipe(), **(DIGESTS | {name: "x"})) for name in DIGESTS),
    ]
    monkeypatch.setattr(keys, "code_digest", lambda: "other code")
    others.append(point_key(Recipe(), **DIGESTS))
    assert len(set(others)) == len(others)
    assert all(len(key) == 64 for key in others)


def test_a_key_is_the_same_in_every_process():
    assert point_key(Recipe(layers={"a": {"weight": 4}}), **DIGESTS) == point_key(
        Recipe.from_toml(Recipe(layers={"a": {"weight": 4}}).to_toml()), **DIGESTS
    )


@pytest.mark.parametrize(
    "other",
    [
        SPLIT.first(1),
        Split(SPLIT.images + 1, SPLIT.labels),
        Split(SPLIT.images, SPLIT.labels[::-1]),
        Split(SPLIT.images.reshape(2, 1, 1, 4), SPLIT.labels),
    ],
)
def test_images_labels_shape_and_number_are_in_the_digest_of_the_data(other):
    assert data_digest(other) != data_digest(SPLIT)
    assert data_digest(Split(SPLIT.images.copy(), SPLIT.labels.copy())) == data_digest(SPLIT)


def test_code_of_the_kernels_and_of_the_compiler_is_in_the_key(monkeypatch, tmp_path):
    root = tmp_path / "mfsim"
    for name in ("kernels/wht.py", "ops/wht/lowering.py", "nn/norms.py", "cli/app.py", "ir/program.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    monkeypatch.setattr(keys.mfsim, "__file__", str(root / "__init__.py"))
    digest = code_digest.__wrapped__
    before = digest()
    (root / "cli/app.py").write_text("2")
    assert digest() == before
    for name in ("kernels/wht.py", "ops/wht/lowering.py", "nn/norms.py", "ir/program.py"):
        (root / name).write_text("2")
        assert digest() != before
        before = digest()
