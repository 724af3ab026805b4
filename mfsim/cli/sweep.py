"""`mfsim sweep`: the accuracy of an exported network over bits of weights, activations, accumulators, thresholds."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from mfsim.cli.options import Data, Debug, Json, Run, SplitName
from mfsim.cli.session import Session, session

if TYPE_CHECKING:
    from mfsim.analysis.sweeps import SweepReport

Axes = Annotated[
    list[str] | None,
    typer.Option(
        "--axis",
        metavar="KEY[@PATTERN]=VALUES",
        help="Axis of the sweep, such as weight=2:8, activation=4,6,8 or accumulator@head=12:24:4; repeatable.",
    ),
]
Layers = Annotated[str, typer.Option(help="Pattern of layers, for axes that have none.")]
Sensitivity = Annotated[bool, typer.Option("--sensitivity", help="Change one layer at a time.")]
Out = Annotated[
    pathlib.Path | None, typer.Option(help="Folder of the sweep; default: one below `sweeps` in the run folder.")
]
Images = Annotated[int | None, typer.Option(min=1, help="Use only the first images.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of processes; default: one for each core.")]
Retry = Annotated[bool, typer.Option("--retry", help="Compute failed points again.")]

COLUMNS = ("top1", "sqnr_db", "overflows", "accumulator bits", "weight bits", "pj")
"""Figures of a point that are shown."""


def command(
    run: Run,
    axis: Axes = None,
    layers: Layers = "",
    sensitivity: Sensitivity = False,
    out: Out = None,
    data: Data = None,
    split: SplitName = "test",
    images: Images = None,
    workers: Workers = None,
    retry: Retry = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Simulate an exported network over bit widths, one point for each; finished points are never computed again.\f

    Parameters
    ----------
    run : path
        Run folder after `mfsim export`.
    axis : list of str, optional
        Axes, such as "weight=2:8"; at least one is needed.
    layers : str
        Pattern of layers, for axes that have none.
    sensitivity : bool
        Whether to change one layer at a time.
    out : path, optional
        Folder of the sweep; one below `sweeps` in the run folder where left out.
    data : str, optional
        Name or path of a data set; the one of the training where left out.
    split : {"test", "validation", "train"}
        Split of the data set.
    images : int, optional
        Number of first images to use, at least 1.
    workers : int, optional
        Processes, at least 1; one for each core where left out.
    retry : bool
        Whether to compute failed points again.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as shown:
        from mfsim.errors import FailedPointsError
        from mfsim.run_folder import RunFolder
        from mfsim.sweep import parse_axes, sweep
        from mfsim.sweep.output import FOLDER
        from mfsim.workflow.images import chosen, load_data

        folder = RunFolder.open(run)
        axes = parse_axes(axis or (), layers)
        samples = chosen(load_data(folder, data), split)
        with shown.stages(str(folder)) as stages:
            report = sweep(
                folder,
                samples if images is None else samples.first(images),
                axes,
                sensitivity=sensitivity,
                out=out,
                workers=workers,
                retry=retry,
                progress=stages,
            )
        path = out or folder.path / FOLDER / report.name
        shown.result(folder=str(path), **report.to_json())
        _show(shown, report)
        shown.say(f"sweep: {path}")
        if report.failed:
            raise FailedPointsError(
                f"{len(report.failed)} of {report.points} points failed; `--retry` computes them again"
            )


def _show(shown: Session, report: SweepReport) -> None:
    """Print the points with figures, then the sentences of those without."""
    layer = ("layer",) if report.sensitivity else ()
    columns = ("point", *layer, *report.axes, "accuracy", "against own", *COLUMNS)
    own = report.own
    rows = []
    for row in report.rows:
        found = row.figures
        if found is not None:
            against = None if own is None else f"{100 * (found.accuracy - own.accuracy):+.2f}"
            head = (row.point, *((row.layer or None,) if report.sensitivity else ()), *row.values)
            cells = (getattr(found, column.replace(" ", "_")) for column in COLUMNS)
            rows.append((*head, f"{found.accuracy:.2%}", against, *cells))
    shown.table("Points; a dash is the network's own recipe", columns, rows)
    if report.failed:
        failed = [
            (row.point, *((row.layer or None,) if report.sensitivity else ()), *row.values, row.error)
            for row in report.failed
        ]
        shown.table("Points that failed", ("point", *layer, *report.axes, "error"), failed)
