"""`mfsim demo`: four networks from data to a report."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json, Seed
from mfsim.cli.session import session
from mfsim.workflow.settings import DEFAULTS, Settings

Out = Annotated[pathlib.Path, typer.Option(help="Folder for the report and the run folders of the networks.")]
Epochs = Annotated[int, typer.Option(min=1, help="Epochs of float training.")]


def command(
    out: Out = pathlib.Path("runs/demo"),
    epochs: Epochs = DEFAULTS.epochs,
    seed: Seed = DEFAULTS.seed,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Train, quantize, export, check, compile, simulate and count four networks on digits, and write a report.\f

    Parameters
    ----------
    out : path
        Folder for the report and the run folders.
    epochs : int
        Epochs of float training, at least 1.
    seed : int
        Seed of all random numbers, at least 0.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as shown:
        from mfsim.errors import ParityError
        from mfsim.report import NetworkResult
        from mfsim.report.result import comparison
        from mfsim.run_folder import make_folder
        from mfsim.workflow.demo import REFERENCES, run_demo

        def finished(result: NetworkResult) -> None:
            accuracy = ", ".join(f"{stage} {value or 0.0:.2%}" for stage, value in result.accuracy.items())
            codes = sum(pair.compared for pair in result.parity)
            differ = sum(pair.mismatches for pair in result.parity)
            shown.say(f"{result.name}: {accuracy}; {differ} of {codes:,} compared codes differ")

        make_folder(out)
        shown.say(f"Training on scikit-learn's digits; everything is written below {out}.")
        with shown.stages("demo") as stages:
            demo = run_demo(
                out,
                Settings(epochs=epochs, seed=seed, reference_samples=REFERENCES),
                progress=lambda name, what, done, total: stages(f"{name}, {what}", done, total),
                finished=finished,
            )
        table = comparison(list(demo.results))
        shown.side_by_side(table, "One sample, four networks")
        shown.result(report=str(demo.page), shortfalls=list(demo.shortfalls), networks=table.records())
        shown.say(f"report: {demo.page}")
        if demo.shortfalls:
            raise ParityError("; ".join(demo.shortfalls))
