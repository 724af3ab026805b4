"""`mfsim count`: the operations of one sample."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from mfsim.cli.options import Debug, Json, Target
from mfsim.cli.session import session

Rule = Annotated[Literal["full", "paper"], typer.Option(help="Count everything, or multiplications as papers do.")]
Strict = Annotated[
    bool,
    typer.Option("--strict-multiplication-free", help="Fail if anything between input and output codes multiplies."),
]
Allow = Annotated[bool, typer.Option("--allow-uncounted", help="List what cannot be counted instead of failing.")]


def command(
    target: Target,
    rule: Rule = "full",
    strict: Strict = False,
    allow_uncounted: Allow = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Count the operations of one sample, by layer and primitive, with operand widths."""
    with session(json, debug) as out:
        from mfsim.analysis import count, memory, strict_multiplication_free
        from mfsim.run import RunFolder, load_program

        program = load_program(target)
        report = count(program, rule, allow_uncounted)
        if target.is_dir():
            RunFolder.open(target).write("count.json", report.to_json())
        out.result(**report.to_json(), memory=memory(program).summary(), multiplication_free=False)
        listings = {listing.name: listing for listing in report.listings()}
        out.listing(listings["operations_by_layer"], "Operations of one sample, by layer")
        out.listing(listings["operations_by_width"], "By operand widths, in bits")
        for name in ("operations_offline", "multiplications", "tables", "uncounted"):
            if listings[name].rows:
                out.listing(listings[name])
        out.say(
            f"{report.total:,} operations for one sample, {sum(r.count for r in report.multiplications()):,} multiplications"
        )
        if strict:
            strict_multiplication_free(report if rule == "full" else program)
            out.result(multiplication_free=True)
            out.say("multiplication-free: no mul, div or sqrt between input and output codes", "green")
