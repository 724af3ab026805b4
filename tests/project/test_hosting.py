"""The hooks of pre-commit and the hosted CI run what `make` runs."""

from __future__ import annotations

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def values(key: str, text: str) -> list[str]:
    """Return what stands behind `key:` on its lines of a YAML file."""
    return re.findall(rf"^[ -]*{key}: *(.+)$", text, re.MULTILINE)


def test_hooks_need_no_network():
    assert values("repo", HOOKS) == ["local"]
    assert set(values("language", HOOKS)) == {"system"}
    assert len(values("language", HOOKS)) == len(values("id", HOOKS)) >= 3


def test_hooks_run_tools_that_lint_runs():
    lint = MAKEFILE[MAKEFILE.index("\nlint:") :].split("\n\n")[0]
    for entry in values("entry", HOOKS):
        tool = re.fullmatch(r"\.venv/bin/python -m (\w+(?: check| format)?)(?: --force-exclude)?", entry).group(1)
        assert f"$(PY) -m {tool}" in lint


def test_the_hosted_ci_tests_every_python_that_is_admitted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    pythons = ["3." + c.removeprefix(prefix) for c in project["classifiers"] if re.match(re.escape(prefix) + r"\d", c)]
    assert values("python", WORKFLOW) == [str(pythons).replace("'", '"')]
    assert project["requires-python"] == f">={pythons[0]},<3.{int(pythons[-1].split('.')[1]) + 1}"


def test_every_command_of_the_hosted_ci_exists():
    runs = values("run", WORKFLOW)
    assert {"make test", ".ci/run", "make lower-bounds"} <= set(runs)
    for command in runs:
        tool, _, target = command.partition(" ")
        if tool == "make":
            assert f"\n{target}:" in MAKEFILE, command
        elif tool == ".ci/run":
            assert (ROOT / tool).stat().st_mode & 0o111
        else:
            assert tool == "apt-get", command
