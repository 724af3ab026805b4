"""Every example runs as a script."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "__init__.py")


def run(arguments: list[str], folder: pathlib.Path) -> str:
    """Run a fresh Python in `folder` that knows the checkout; return what it printed."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SHORT = {"char_decoder": ["--steps", "20"], "convert_resnet": [".", "1"], "convert_vit": ["1"], "own_model": [".", "1"]}
"""Arguments with which an example trains for a moment only."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path):
    assert run([str(path), *SHORT.get(path.stem, [])], tmp_path).strip()


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} >= {"wht_layer", "own_model", "count_by_hand"}
