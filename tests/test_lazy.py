"""Public names of packages stay what they are, whichever submodule is imported first."""

from __future__ import annotations

import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

LOOK = """
import importlib, sys, types
package = importlib.import_module(sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
wrong = [name for name in package.__all__ if isinstance(getattr(package, name), types.ModuleType)]
assert not wrong, wrong
assert set(package.__all__) <= set(dir(package))
"""


@pytest.mark.parametrize("package", ["mfsim", "mfsim.quant", "mfsim.export"])
def test_no_submodule_replaces_a_public_name(package):
    found = importlib.import_module(package)
    modules = [f"{package}.{module.name}" for module in pkgutil.iter_modules(found.__path__)]
    subprocess.run([sys.executable, "-W", "ignore", "-c", LOOK, package, *modules], check=True)


@pytest.mark.parametrize("home", ["train", "workflow"])
@pytest.mark.parametrize("first", ["the name", "the submodule"])
def test_a_name_stays_wherever_it_comes_from(tmp_path, home, first):
    """A function `train` of `train.py` or of another file, in a package that has `train.py`, is never the submodule."""
    package = tmp_path / "made_up"
    package.mkdir()
    (package / "train.py").write_text("def train(): pass\n")
    (package / "workflow.py").write_text("def train(): pass\n")
    (package / "__init__.py").write_text(
        "from mfsim.lazy import public\n"
        f"__getattr__, __dir__ = public(__name__, {{'train': 'made_up.{home}'}})\n"
        "__all__ = ['train']\n"
    )
    script = (
        "import made_up, types\n"
        f"{'made_up.train' if first == 'the name' else 'import made_up.train'}\n"
        "import made_up.train, made_up.workflow\n"
        "assert isinstance(made_up.train, types.FunctionType), made_up.train\n"
        f"assert made_up.train.__module__ == 'made_up.{home}'\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match=r"module `mfsim\.quant` has no attribute `quantise`"):
        importlib.import_module("mfsim.quant").quantise  # noqa: B018


VERBS = ("train", "quantize", "export", "check", "load", "simulate", "count", "widths", "convert", "sweep", "report")


def test_every_verb_is_a_function():
    package = importlib.import_module("mfsim")
    assert all(inspect.isfunction(getattr(package, verb)) for verb in VERBS)


def test_packages_with_the_name_of_a_verb_are_imported_from_as_before():
    for statement in (
        "import mfsim.export.check",
        "from mfsim.train import fit",
        "from mfsim.simulate import Simulator",
    ):
        exec(statement, {})


def test_types_are_those_of_the_names_that_are_imported():
    package = importlib.import_module("mfsim")
    stub = pathlib.Path(package.__file__).with_name("__init__.pyi").read_text()
    named = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)}
    assert named == package._HOME
