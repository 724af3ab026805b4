"""Assemble the package as an installation has it, in `build/tree`, for tools that read sources without importing them.

`export/` and `rtl_models/` stand beside `mfsim/` and are imported as `mfsim.export` and `mfsim.rtl_models`: pyproject.toml
maps them (`tool.setuptools.package-dir`), and both a wheel and an editable installation follow it. mypy and
import-linter follow no such mapping, so they read `build/tree/mfsim`, a folder of links to the sources.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "tree"


def assemble(tree: pathlib.Path) -> None:
    """Make the folder `tree` anew."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        places = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    shutil.rmtree(tree, ignore_errors=True)
    for package, folder in sorted(places.items()):
        target = tree.joinpath(*package.split("."))
        if "." in package:
            link(ROOT / folder, target)
            continue
        target.mkdir(parents=True)
        for path in sorted((ROOT / folder).iterdir()):
            if path.name != "__pycache__":
                link(path, target / path.name)
    link(ROOT / "examples", tree / "examples")


def link(source: pathlib.Path, target: pathlib.Path) -> None:
    """Link `target` to `source` by a relative path."""
    target.symlink_to(os.path.relpath(source, target.parent), target_is_directory=source.is_dir())


if __name__ == "__main__":
    assemble(TREE)
