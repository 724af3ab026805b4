"""`mfsim papers`: tables and counts of four papers beside what is built and counted here."""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

import typer

from mfsim.cli.options import Debug, Json
from mfsim.cli.session import session

Name = Annotated[
    Literal["learned-queries", "keyless", "minimum", "hadamard"] | None,
    typer.Option("--paper", help="One paper: learned-queries, keyless, minimum or hadamard; default all."),
]
Folder = Annotated[
    pathlib.Path | None, typer.Option("--csv", metavar="FOLDER", help="Write every table as a CSV file there, too.")
]


def command(paper: Name = None, csv: Folder = None, json: Json = False, debug: Debug = False) -> None:
    """Print what four papers claim, what comes out here, and why where the two differ."""
    with session(json, debug) as out:
        from mfsim.papers import PAPERS, TITLES, report

        found = report(tuple(PAPERS) if paper is None else (paper,))
        out.result(**found.to_json())
        for listing in found.listings():
            out.listing(listing, TITLES[listing.name])
        for path in found.write_csv(csv) if csv is not None else ():
            out.say(f"written: {path}")
        out.say(", ".join(f"{count} {verdict}" for verdict, count in found.verdicts().items()))
