"""Yosys in a process of its own, because an error in it ends the process that it runs in.

The PyPI package pyosys brings Yosys and its logic optimiser; nothing else is needed.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from mfsim.errors import ToolError

INSTALL = "pip install pyosys==0.70"
_RUN = "import sys; from pyosys import libyosys; design = libyosys.Design(); [design.run_pass(x) for x in sys.argv[1:]]"
ELABORATE = ("proc", "flatten -noscopeinfo", "opt_clean")
"""Passes after which cells are still words: nothing has been mapped, merged or shared."""
SYNTHESISE = ("synth -noabc", "abc -g simple", "flatten -noscopeinfo", "opt")
"""Passes that leave simple gates (and, or, xor, not, multiplexer) and flip-flops."""


def available() -> bool:
    """Return whether Yosys can be run."""
    return importlib.util.find_spec("pyosys") is not None


def require() -> None:
    """Raise a `ToolError` that says how to install Yosys if it is missing."""
    if not available():
        raise ToolError(f"`pyosys` is needed to check a block and is not installed: `{INSTALL}`")


def netlist(
    texts: Mapping[str, str], top: str, passes: Sequence[str], generics: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """Return the modules of a design after `passes` by name, as Yosys writes them in JSON.

    Parameters
    ----------
    texts : SystemVerilog by file name.
    top : name of the top module.
    passes : Yosys passes, run after the hierarchy is elaborated.
    generics : parameters of the top module.

    Raises
    ------
    ToolError
        If Yosys is not installed, or stops; its own first error line is quoted.
    """
    require()
    with tempfile.TemporaryDirectory(prefix="mfsim-rtl-") as name:
        folder = pathlib.Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        given = "".join(f" -chparam {name} {value}" for name, value in (generics or {}).items())
        commands = [f"read_verilog -sv {' '.join(texts)}", f"hierarchy -check -top {top}{given}", *passes]
        commands.append("write_json netlist.json")
        done = subprocess.run(
            [sys.executable, "-I", "-c", _RUN, *commands], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode or not (folder / "netlist.json").exists():
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise ToolError(f"yosys stopped at {top}: {lines[0] if lines else f'exit status {done.returncode}'}")
        design = json.loads((folder / "netlist.json").read_text(encoding="utf-8"))
    modules: dict[str, Any] = design["modules"]
    return modules
