"""pyproject.toml, constraints.txt and the folders say the same."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pathlib
import re
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

import mfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAPPED = {"mfsim.export": "export", "mfsim.rtl_models": "rtl_models"}
CUDA = re.compile(r"(cuda|nvidia|triton)(-|$)")
"""What torch's wheel with CUDA needs besides; constraints.txt has what the CPU wheel needs, and no more is used."""


def normal(name: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    """Return the exact version of each package in constraints.txt."""
    lines = (line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {normal(name): version for name, version in pairs}


def needed() -> list[Requirement]:
    """Return every requirement of mfsim and of its extras."""
    project = PYPROJECT["project"]
    texts = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    return [Requirement(text) for text in texts]


def test_every_package_folder_is_listed():
    folders = set()
    for package, folder in {"mfsim": "mfsim", **MAPPED}.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT / folder).parts
            name = ".".join((package, *parts))
            if "__pycache__" not in parts and not any(name.startswith(m) and package == "mfsim" for m in MAPPED):
                folders.add(name)
    assert sorted(PYPROJECT["tool"]["setuptools"]["packages"]) == sorted(folders)


def test_every_folder_with_python_is_a_package():
    for folder in ("mfsim", "export", "rtl_models"):
        for path in (ROOT / folder).rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), f"{path.parent} has no __init__.py"


@pytest.mark.parametrize(("package", "folder"), MAPPED.items())
def test_folders_at_the_top_are_imported_below_mfsim_without_links(package, folder):
    assert not (ROOT / package.replace(".", "/")).exists()
    assert (
        pathlib.Path(importlib.import_module(package).__file__).resolve() == (ROOT / folder / "__init__.py").resolve()
    )


def test_nothing_in_mfsim_is_a_link():
    assert not [path for path in (ROOT / "mfsim").rglob("*") if path.is_symlink()]


def test_the_ranges_admit_the_exact_versions():
    exact = constraints()
    for requirement in needed():
        assert exact[normal(requirement.name)] in requirement.specifier, requirement


def test_constraints_name_all_that_is_installed_for_mfsim():
    """What an installed package needs must be listed too, in the version that is installed; extras may be absent."""
    exact, seen, todo = constraints(), set(), [requirement.name for requirement in needed()]
    while todo:
        name = normal(todo.pop())
        if name in seen or CUDA.match(name):
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        seen.add(name)
        assert exact.get(name) == distribution.version.split("+")[0], f"{name} {distribution.version} is installed"
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                todo.append(requirement.name)
    assert {"torch", "numpy", "pytest", "apytypes"} <= seen


def test_every_package_that_is_imported_is_a_dependency():
    """None is there only because another package needs it."""
    declared = {normal(Requirement(text).name) for text in PYPROJECT["project"]["dependencies"]}
    homes = importlib.metadata.packages_distributions()
    found = set()
    for path in (path for folder in ("mfsim", "export", "rtl_models") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            found |= {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"mfsim"}
    assert {"numpy", "torch", "PIL"} <= found
    for name in found:
        assert declared & {normal(home) for home in homes[name]}, f"`{name}` is imported and must be a dependency"


def test_the_public_surface_is_what_it_says():
    for name in mfsim.__all__:
        assert getattr(mfsim, name) is not None
    assert set(mfsim.__all__) <= set(dir(mfsim))
    with pytest.raises(AttributeError, match="module `mfsim` has no attribute `simulat`"):
        mfsim.simulat  # noqa: B018
