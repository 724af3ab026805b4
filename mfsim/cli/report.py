"""`mfsim report`: HTML, JSON, Markdown and CSV of one or more run folders."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json
from mfsim.cli.session import session

Runs = Annotated[list[pathlib.Path], typer.Argument(help="Run folders, shown side by side.")]
Out = Annotated[
    pathlib.Path | None, typer.Option(help="Folder for the report; default: `report` in the first run folder.")
]
Title = Annotated[str, typer.Option(help="Title of the page.")]


Arrays = Annotated[
    str | None,
    typer.Option("--array", help="Add the tables of `mfsim cim` for this array.", show_default=False),
]


def command(
    runs: Runs,
    out: Out = None,
    title: Title = "Multiplication-free networks",
    array: Arrays = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a report on simulated networks.\f

    Parameters
    ----------
    runs : list of path
        Run folders after `mfsim simulate`, shown side by side.
    out : path, optional
        Folder for the report; `report` in the first run folder where left out.
    title : str
        Title of the page.
    array : str, optional
        Array whose tables are added, by name or TOML file.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as shown:
        from mfsim.cim import load_array
        from mfsim.report import write_report
        from mfsim.report.result import comparison
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.summary import summary

        chosen = load_array(array) if array is not None else None
        results = [summary(RunFolder.open(run), chosen) for run in runs]
        page = write_report(results, out or RunFolder(runs[0]).file("report"), title)
        table = comparison(results)
        shown.result(report=str(page), networks=table.records())
        shown.side_by_side(table, title)
        shown.say(f"report: {page}")
