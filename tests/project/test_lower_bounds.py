"""tools/lower_bounds.py turns each lower bound into one release."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest
from packaging.requirements import Requirement

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lower_bounds():
    """Return the module, which imports its neighbour in tools/."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        spec = importlib.util.spec_from_file_location("lower_bounds", ROOT / "tools" / "lower_bounds.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "tools"))
    return module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy>=2.4", "numpy==2.4"),
        ("brevitas>=0.13.4,<0.14", "brevitas==0.13.4"),
        ("brevitas<0.14,>=0.13.4,!=0.13.5", "brevitas==0.13.4"),
        ("Scikit_Learn >= 1.9", "scikit-learn==1.9"),
        ("a>=1; sys_platform == 'linux'", 'a==1; sys_platform == "linux"'),
    ],
)
def test_a_lower_bound_is_one_release(lower_bounds, text, expected):
    assert lower_bounds.lowest(text) == expected


@pytest.mark.parametrize(("text", "count"), [("numpy", 0), ("numpy<3", 0), ("numpy>2", 0), ("numpy>=2,>=3", 2)])
def test_a_requirement_must_have_one_lower_bound(lower_bounds, text, count):
    with pytest.raises(ValueError, match="must have") as caught:
        lower_bounds.lowest(text)
    assert str(caught.value) == f"`{text}` must have one lower bound, as in `numpy>=1.0`, not {count}"


def test_direct_dependencies_have_their_bounds_and_all_else_its_constraint(lower_bounds):
    pyproject = """
    build-system.requires = ["setuptools>=77"]
    project.dependencies = ["My_Pack>=1,<2"]
    project.optional-dependencies = { test = ["pytest>=9"], dev = ["ruff>=0.17"] }
    """
    constraints = "# a comment with a==1\nmy-pack==1.5\nother==3.0\npytest==9.2.0\nruff==0.17.6\nsetuptools==80.0\n"
    assert lower_bounds.exact(pyproject, constraints) == (
        ["setuptools==77", "my-pack==1", "pytest==9"],
        ["other==3.0", "ruff==0.17.6"],
    )


def test_every_bound_of_this_project_is_at_most_its_exact_version(lower_bounds):
    direct, others = lower_bounds.exact((ROOT / "pyproject.toml").read_text(), (ROOT / "constraints.txt").read_text())
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")
    )
    for line in direct:
        name, bound = line.partition(";")[0].split("==")
        assert pinned[name] in Requirement(f"{name}>={bound}").specifier, line
    assert len(direct) + len(others) == len(pinned)


def test_the_subset_names_files_that_exist(lower_bounds):
    paths = [argument for argument in lower_bounds.SUBSET if re.match(r"\w+/", argument)]
    assert paths
    for path in paths:
        assert (ROOT / path).exists(), path
