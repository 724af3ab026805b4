"""Renew the generated tables of README.md and docs.

The ops come from the registry, the options from the commands, the benchmarks from benchmarks/results.json.

A table stands between `<!-- NAME: begin ... -->` and `<!-- NAME: end -->`. `tests/project/test_tables.py`
fails while a file differs from what this writes.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("README.md", "docs/ops.md", "docs/commands.md", "docs/performance.md")
BLOCK = re.compile(r"(<!-- (?P<name>[a-z ]+): begin[^\n]*-->\n).*?(<!-- (?P=name): end -->)", re.DOTALL)
EVERYWHERE = {"json", "debug", "help"}
"""Options of every command; docs/commands.md explains them once."""


def options(command: str) -> str:
    """Return arguments and options of a command as a Markdown table."""
    import typer.main

    from mfsim.cli.app import app

    lines = ["| argument or option | default | what it is |", "| --- | --- | --- |"]
    for parameter in typer.main.get_command(app).commands[command].params:
        if parameter.name in EVERYWHERE:
            continue
        argument = parameter.param_type_name == "argument"
        shown = (parameter.name or "").upper() if argument else " ".join(parameter.opts)
        default = parameter.default
        if parameter.required:
            default = "needed"
        elif default is None or isinstance(default, bool) or callable(default):
            default = ""
        lines.append(f"| `{shown}` | {default} | {parameter.help} |")
    return "\n".join(lines) + "\n"


def benchmarks() -> str:
    """Return the measured ratios and their goals as a Markdown table, and what they hold for."""
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    lines = ["| what: as a multiple of what | measured | goal | met |", "| --- | --- | --- | --- |"]
    met = {True: "yes", False: "no", None: ""}
    for row in results["rows"]:
        measured = f"{row['ratio']:.2f}" if row["ratio"] is not None else f"not run: {row['note']}"
        goal = "" if row["goal"] is None else f"{row['bound']} {row['goal']:g}"
        lines.append(f"| {row['name']} | {measured} | {goal} | {met[row['met']]} |")
    held = "; ".join(f"{name} {value}" for name, value in results["machine"].items())
    return "\n".join(lines) + f"\n\nMeasured with: {held}.\n"


def table(name: str) -> str:
    """Return the table called `name`: "ops", "benchmarks", or "options of COMMAND"."""
    from mfsim.cli.ops import markdown

    if name == "benchmarks":
        return benchmarks()
    return markdown() if name == "ops" else options(name.removeprefix("options of "))


def renewed(path: pathlib.Path) -> str:
    """Return the text of a file with all its tables made anew."""
    text, count = BLOCK.subn(
        lambda match: f"{match[1]}\n{table(match['name'])}\n{match[3]}", path.read_text(encoding="utf-8")
    )
    if not count:
        sys.exit(f"{path} has no marks of a table")
    return text


def main() -> None:
    """Write the files."""
    sys.path.insert(0, str(ROOT))
    for name in FILES:
        (ROOT / name).write_text(renewed(ROOT / name), encoding="utf-8")


if __name__ == "__main__":
    main()
