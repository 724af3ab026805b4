"""Run tests with the oldest releases that pyproject.toml admits. Called by `make lower-bounds`.

`.venv.lower` gets, of each direct dependency, the exact release that is its lower bound, and of all
else the release of constraints.txt. So a bound that names no release, or that another package rules
out, fails when the environment is made; one that is too low fails in the tests. Without arguments the
tests in `SUBSET` run: each package that has a bound is imported and used by them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import make_venv
from packaging.requirements import Requirement

VENV = make_venv.ROOT / ".venv.lower"
SUBSET = (
    *("-n", "2", "-k", "not conformance or wht or mf_matmul or softmax_shift"),
    *("tests/conformance", "tests/ops/softmax", "tests/data", "tests/report"),
    *("tests/cli/test_app.py", "tests/cli/test_commands.py"),
    *("tests/compiler/test_reader.py", "tests/compiler/test_rules.py", "tests/compiler/test_program.py"),
    *("tests/export/test_exporter.py", "tests/export/test_brevitas.py", "tests/export/test_check.py"),
    *("tests/export/test_cleanup.py", "tests/export/test_layouts.py", "tests/export/test_runtime.py"),
    *("tests/quant/test_quantize.py", "tests/quant/test_store.py"),
)
"""Arguments of pytest; about 4 minutes on two cores."""


def normal(name: str) -> str:
    """Return the normalised name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lowest(text: str) -> str:
    """Return `name==release` for a requirement such as `numpy>=2.4,<3`, behind which its marker stays.

    Parameters
    ----------
    text : a requirement with one lower bound, `name>=release`, and no URL or extra.

    Raises
    ------
    ValueError
        If it has no lower bound, or more than one.
    """
    requirement = Requirement(text)
    bounds = [part.version for part in requirement.specifier if part.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"`{text}` must have one lower bound, as in `{requirement.name}>=1.0`, not {len(bounds)}")
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{normal(requirement.name)}=={bounds[0]}{marker}"


def exact(pyproject: str, constraints: str) -> tuple[list[str], list[str]]:
    """Return the direct dependencies at their lower bounds, and the lines of constraints.txt on everything else.

    Parameters
    ----------
    pyproject, constraints : the contents of the two files.
    """
    content = tomllib.loads(pyproject)
    project = content["project"]
    texts = [*content["build-system"]["requires"], *project["dependencies"], *project["optional-dependencies"]["test"]]
    direct = [lowest(text) for text in texts]
    taken = {line.split("==")[0] for line in direct}
    pinned = [line for line in constraints.splitlines() if "==" in line and not line.startswith("#")]
    return direct, [line for line in pinned if normal(line.split("==")[0]) not in taken]


def make() -> None:
    """Make `.venv.lower`, unless it is there and of the same releases."""
    root = make_venv.ROOT
    direct, others = exact((root / "pyproject.toml").read_text(), (root / "constraints.txt").read_text())
    stamp, wanted = VENV / "mfsim-lower-bounds.txt", "\n".join([sys.version, *direct, *others])
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    make_venv.remove(VENV)
    subprocess.run([sys.executable, "-m", "venv", "--prompt", "mfsim-lower", str(VENV)], check=True)
    file = VENV / "constraints.txt"
    file.write_text("\n".join(others) + "\n")
    make_venv.pip(VENV, "--only-binary", ":all:", "--constraint", str(file), *direct)
    make_venv.pip(VENV, "--no-deps", "--no-build-isolation", "--no-index", "--editable", ".")
    stamp.write_text(wanted)


def main() -> int:
    """Make the environment and run pytest in it; return the exit status."""
    try:
        make()
    except (ValueError, subprocess.CalledProcessError) as error:
        print(f"mfsim: .venv.lower cannot be made: {error}", file=sys.stderr)
        return 1
    tests = sys.argv[1:] or SUBSET
    command = [str(VENV / "bin" / "python"), "-m", "pytest", *tests]
    return subprocess.run(command, cwd=make_venv.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
