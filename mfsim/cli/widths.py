"""`mfsim widths`: words, proved ranges and observed ranges."""

from __future__ import annotations

from mfsim.cli.options import Debug, Json, Target
from mfsim.cli.session import session

COLUMNS = (
    "layer",
    "op",
    "name",
    "kind",
    "word",
    "proved_lo",
    "proved_hi",
    "observed_lo",
    "observed_hi",
    "slack",
    "observed_slack",
)


def command(target: Target, json: Json = False, debug: Debug = False) -> None:
    """Show the word of every value beside its proved and its observed range.

    Observed ranges come from the simulation of a run folder; for a file alone there are none.

    \f

    Parameters
    ----------
    target : path
        Run folder, quantized model.onnx or integer.onnx.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301
    with session(json, debug) as out:
        from mfsim.analysis import widths
        from mfsim.run_folder import RunFolder, load_program

        program = load_program(target)
        run = RunFolder(target)
        observed = None
        if target.is_dir() and run.has("simulation.json"):
            from mfsim.workflow.verify import read_verification

            observed = read_verification(run).simulation
        report = widths(program, observed)
        out.result(**report.to_json())
        (listing,) = report.listings()
        rows = [[record[c] for c in COLUMNS] for record in listing.records() if record["kind"] != "constant"]
        out.table("Words, proved and observed ranges, unused bits", [c.replace("_", " ") for c in COLUMNS], rows)
        if observed is None:
            out.say("nothing was observed; `mfsim simulate` on a run folder does that")
        elif report.overflows:
            out.say(f"{report.overflows:,} codes were changed by an overflow rule", "yellow")
