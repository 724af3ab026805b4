"""The program as a whole: its commands, what it imports, how fast it answers."""

from __future__ import annotations

import pathlib
import re
import resource
import subprocess
import sys

import pytest

from mfsim import __version__
from tests.cli.conftest import mfsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = [
    "demo",
    "convert",
    "train",
    "quantize",
    "export",
    "check",
    "compile",
    "simulate",
    "count",
    "widths",
    "cim",
    "sweep",
    "rtl",
    "report",
    "ops",
]
SLOW = ("torch", "onnx", "onnxruntime", "numba", "brevitas", "sklearn", "numpy")


def run(*arguments: str) -> subprocess.CompletedProcess:
    """Run a fresh Python in the checkout."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)


def test_help_names_every_command_in_order():
    shown = mfsim("--help").stdout
    assert re.findall(r"^│ ([a-z]+) {2}", shown, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_debug(command):
    shown = mfsim(command, "--help")
    assert shown.status == 0
    for option in ("--json", "--debug", "--help"):
        assert option in shown.stdout


def test_building_the_program_imports_nothing_slow():
    code = f"import sys, mfsim.cli.app; print([name for name in {SLOW} if name in sys.modules])"
    assert run("-c", code).stdout == "[]\n"


def test_help_answers_in_half_a_second_of_processor_time():
    """The clock on the wall would measure what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Usage: mfsim" in run("-m", "mfsim", "--help").stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 0.5


def test_version():
    assert mfsim("--version").stdout == f"mfsim {__version__}\n"


def test_a_mistyped_command_is_bad_usage():
    done = mfsim("simulat")
    assert done.status == 2
    assert "Did you mean 'simulate'?" in done.stderr
    assert done.stdout == ""
