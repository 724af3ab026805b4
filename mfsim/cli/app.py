"""The `mfsim` program: its commands in the order in which a network passes them."""

from __future__ import annotations

from typing import Annotated

import typer

from mfsim import __version__
from mfsim.cli import (
    check,
    cim,
    compile,
    convert,
    count,
    demo,
    export,
    ops,
    quantize,
    report,
    rtl,
    simulate,
    sweep,
    train,
    widths,
)

app = typer.Typer(
    name="mfsim",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train, quantize, export, simulate bit for bit, and count multiplication-free networks.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mfsim {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that belong to no command."""


for _module in (
    demo,
    convert,
    train,
    quantize,
    export,
    check,
    compile,
    simulate,
    count,
    widths,
    cim,
    sweep,
    rtl,
    report,
    ops,
):
    app.command(_module.__name__.rpartition(".")[2])(_module.command)


def main() -> None:
    """Run the command line."""
    app(prog_name="mfsim")
