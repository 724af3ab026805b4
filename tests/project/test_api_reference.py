"""The API reference covers the public surface: each public class stands on the page of a module that is documented."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re

import pytest

import mfsim

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "api"
MODULES = sorted(
    name for page in PAGES.glob("*.rst") for name in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text(), re.M)
)
PACKAGES = (
    "nn",
    "quant",
    "export",
    "simulate",
    "analysis",
    "cim",
    "conversion",
    "sweep",
    "rtl_models",
    "errors",
    "data",
)


@pytest.mark.parametrize("name", MODULES)
def test_every_documented_module_has_what_it_names(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert [member for member in getattr(module, "__all__", ()) if not hasattr(module, member)] == []


def test_every_public_package_is_documented():
    assert {"mfsim", *(f"mfsim.{name}" for name in PACKAGES)} <= set(MODULES)


def is_described(module, name, value):
    """Whether autodoc describes `value` on the page of `module`."""
    public = getattr(module, "__all__", ())
    return name in public if public else value.__module__ == module.__name__


def test_every_public_class_is_documented():
    """The page of `mfsim` leaves classes out, so another page must have them."""
    modules = [importlib.import_module(name) for name in MODULES if name != "mfsim"]
    for name in mfsim.__all__:
        value = getattr(mfsim, name)
        if inspect.isclass(value):
            assert any(is_described(module, name, value) for module in modules), f"{name} has no page"


def test_every_page_is_in_the_contents():
    listed = re.search(r"```\{toctree\}\n.*?\n\n(.*?)```", (PAGES / "index.md").read_text(), re.S)[1].split()
    assert sorted(listed) == sorted(page.stem for page in PAGES.glob("*.rst"))
