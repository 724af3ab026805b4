"""An op that is added as CONTRIBUTING.md says is complete with the files named there, and with each of them missing it is not."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE_UP = pathlib.Path(__file__).with_name("new_op")
MISSING = {
    "": (),
    "half_step.py": (
        *("definition", "plain_kernel", "fast_kernel", "torch_function"),
        *("model_body", "integer_body", "compiler_rule"),
    ),
    "kernels.py": ("plain_kernel", "fast_kernel"),
    "fast.py": ("fast_kernel",),
    "torch.py": ("torch_function",),
    "onnx.py": ("model_body", "integer_body", "compiler_rule"),
    "lowering.py": ("compiler_rule",),
}
"""By file what is wrong without it."""
WRONG = {
    "kernels.py": ("shift_left(x[i], 1)", "shift_left(x[i], 2)", ("plain_kernel",)),
    "onnx.py": ("Add(x, x)", "Identity(x)", ("integer_body",)),
}
"""By file something in it, what stands there instead, and what is wrong then."""


def link(source, target, but):
    """Make a folder with links to all that is in `source`, all but one thing."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name not in (but, "__pycache__"):
            (target / path.name).symlink_to(path)


def tree(folder, missing="", wrong=()):
    """Make a tree of the sources with the family `step` of one op, all of its files but `missing`, and return its path."""
    package, family = folder / "mfsim", folder / "mfsim" / "ops" / "step"
    link(ROOT / "mfsim", package, "ops")
    link(ROOT / "mfsim" / "ops", package / "ops", "step")
    for name in ("export", "rtl_models"):
        (package / name).symlink_to(ROOT / name)
    link(ROOT / "tests", folder / "tests", "ops")
    link(ROOT / "tests" / "ops", folder / "tests" / "ops", "step")
    (folder / "tests" / "ops" / "step").mkdir()
    shutil.copy(MADE_UP / "cases.py", folder / "tests" / "ops" / "step")
    left_out = ("__pycache__", "cases.py", *([missing] if missing else []))
    shutil.copytree(MADE_UP, family, ignore=shutil.ignore_patterns(*left_out))
    if wrong:
        file, old, new = wrong
        text = (family / file).read_text()
        assert text.count(old) == 1
        (family / file).write_text(text.replace(old, new))
    return str(folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What is wrong in each tree, by check."""
    folder = tmp_path_factory.mktemp("trees")
    trees = [tree(folder / f"without-{name}", name) for name in MISSING]
    trees += [tree(folder / f"wrong-{name}", wrong=(name, *change[:2])) for name, change in WRONG.items()]
    command = [sys.executable, str(MADE_UP.with_name("new_op_checks.py")), *trees]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    return dict(zip([*MISSING, *(f"wrong {name}" for name in WRONG)], results, strict=True))


@pytest.mark.parametrize("missing", MISSING, ids=lambda name: name or "nothing")
def test_an_op_is_complete_with_its_files(found, missing):
    wrong = {check: error for check, error in found[missing].items() if error}
    assert tuple(wrong) == MISSING[missing], wrong


@pytest.mark.parametrize("file", WRONG)
def test_a_realisation_that_differs_is_found(found, file):
    wrong = {check: error for check, error in found[f"wrong {file}"].items() if error}
    assert tuple(wrong) == WRONG[file][2], wrong


def test_contributing_names_every_file_of_a_new_op():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = re.search(r"^## Adding an op\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    named = set(re.findall(r"`(?:mfsim|tests)/ops/<family>/(\S+?)`", section))
    assert named >= {path.name.replace("half_step", "<op>") for path in MADE_UP.glob("*.py")}
