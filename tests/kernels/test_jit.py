"""Kernels are found in the cache by another process, and a changed file gives new ones to those that import it."""

from __future__ import annotations

import importlib
import pathlib
import sys

import pytest

from mfsim.kernels.jit import cache_folder, files_of, kernel
from mfsim.kernels.simd.wrapping import add


def test_a_kernel_that_was_never_found_in_the_cache_because_its_closure_held_another_is_refused():
    def of(combine):
        def combined(left, right):
            return combine(left, right)

        return combined

    for held in (add, kernel(lambda left, right: left)):
        with pytest.raises(AssertionError, match="holds a kernel and is never cached"):
            kernel(of(held))


ENGINE = "mfsim/kernels/"


def test_the_files_that_decide_a_kernel_are_those_that_it_imports():
    importlib.import_module("mfsim.ops.wht.kernels")
    importlib.import_module("mfsim.ops.softmax.kernels")
    root = pathlib.Path(sys.modules["mfsim"].__file__).parents[1]
    of = {
        name: {str(path.relative_to(root)) for path in files_of(f"mfsim.ops.{name}.kernels")}
        for name in ("wht", "softmax")
    }
    assert f"{ENGINE}primitives.py" in of["wht"] & of["softmax"]
    for name, found in of.items():
        assert f"mfsim/ops/{name}/kernels.py" in found
        assert all(path.startswith((ENGINE, f"mfsim/ops/{name}/")) for path in found)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a package of kernels: `one` imports `shared` through `middle`, `other` imports nothing."""
    folder = tmp_path / "kernels_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    texts = {"shared": "", "middle": "from kernels_of_a_test import shared\n", "other": "import math\n"}
    texts["one"] = "from kernels_of_a_test.middle import shared\n"
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(f"{text}# a comment\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in texts:
        importlib.import_module(f"kernels_of_a_test.{name}")
    yield folder
    for name in [name for name in sys.modules if name.startswith("kernels_of_a_test")]:
        del sys.modules[name]


def folders():
    cache_folder.cache_clear()
    return {name: cache_folder(f"kernels_of_a_test.{name}") for name in ("shared", "middle", "one", "other")}


@pytest.mark.parametrize(
    ("edited", "compiled_again"),
    [("shared", {"shared", "middle", "one"}), ("middle", {"middle", "one"}), ("one", {"one"}), ("other", {"other"})],
)
def test_a_comment_compiles_only_what_imports_its_file(package, edited, compiled_again):
    before = folders()
    path = package / f"{edited}.py"
    path.write_text(path.read_text().replace("a comment", "another comment"))
    after = folders()
    assert {name for name in before if before[name] != after[name]} == compiled_again
