"""Print what four papers claim beside what is built and counted here.

    python -m examples.papers [--paper NAME] [--json] [--csv FOLDER] [--page FILE]

Run it from the root of a checkout. The exit status is 0 whatever the verdicts.
"""

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
Page = Annotated[
    pathlib.Path | None, typer.Option("--page", metavar="FILE", help="Write the page of all papers there, too.")
]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def command(
    paper: Name = None, csv: Folder = None, page: Page = None, json: Json = False, debug: Debug = False
) -> None:
    """Print what four papers claim, what comes out here, and why where the two differ."""
    if paper is not None and page is not None:
        raise typer.BadParameter("`--page` must be given without `--paper`: the page has all papers")
    with session(json, debug) as out:
        from examples.papers import PAPERS, TABLES, report
        from examples.papers.page import text
        from mfsim.analysis.listing import write_text

        found = report(tuple(PAPERS) if paper is None else (paper,))
        out.result(**found.to_json())
        for listing in found.listings():
            out.listing(listing, f"{TABLES[listing.name].title} [{TABLES[listing.name].basis}]")
        for path in found.write_csv(csv) if csv is not None else ():
            out.say(f"written: {path}")
        if page is not None:
            out.say(f"written: {write_text(page, text(found))}")
        out.say(found.summary())


if __name__ == "__main__":
    app(prog_name="python -m examples.papers")
