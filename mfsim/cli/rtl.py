"""`mfsim rtl`: RTL models of blocks, with vectors and proofs."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mfsim.cli.options import Debug, Json, model_options
from mfsim.cli.session import session

Block = Annotated[str | None, typer.Argument(help="Name of the block; omit it to list the blocks.", show_default=False)]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Parameter of the block, such as n=64; repeatable."),
]
Out = Annotated[pathlib.Path | None, typer.Option(help="Folder for the block and its vectors.", show_default=False)]
Vectors = Annotated[int, typer.Option(min=1, help="Number of vectors to write.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the vectors.")]
Check = Annotated[
    bool, typer.Option("--check", help="Prove the block equal to the software and free of multipliers (needs pyosys).")
]
CheckVectors = Annotated[
    int, typer.Option(min=1, help="Number of vectors that `--check` runs through the synthesised gates.")
]
COLUMNS = ("block", "what it computes", "op", "parameters")


def command(
    block: Block = None,
    option: Options = None,
    out: Out = None,
    vectors: Vectors = 1000,
    seed: Seed = 0,
    check: Check = False,
    check_vectors: CheckVectors = 1_000_000,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a block in SystemVerilog with its vectors and a bench; `--check` proves it.\f

    Parameters
    ----------
    block : str, optional
        Name of the block; the blocks are listed where left out.
    option : list of str, optional
        Parameters of the block, NAME=VALUE.
    out : path, optional
        Folder for the block and its vectors.
    vectors : int
        Vectors to write, at least 1.
    seed : int
        Seed of the vectors, at least 0.
    check : bool
        Whether to prove the block equal to the software.
    check_vectors : int
        Vectors that the check runs through the gates, at least 1.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    if block is None and (option or out or check):
        raise typer.BadParameter("a block is needed; `mfsim rtl` lists them")
    chosen = model_options(option)
    with session(json, debug) as shown:
        from mfsim.rtl_models import BLOCKS, parameters, verify, write, yosys
        from mfsim.rtl_models.block import documented

        if block is None:
            listed: list[dict[str, Any]] = [
                {"block": name, "summary": kind.summary, "op": kind.op, "parameters": kind().choices()}
                for name, kind in BLOCKS.items()
            ]
            shown.result(blocks=listed)
            rows = [(entry["block"], entry["summary"], entry["op"], _pairs(entry["parameters"])) for entry in listed]
            shown.table("Blocks", COLUMNS, rows)
            return
        made = parameters(block, chosen)
        if check:
            yosys.require()
        described = documented(made)
        shown.result(block=block, parameters=made.choices(), equation=made.equation, **described)
        shown.table(
            made.top,
            ("port", "words", "bits", "sign"),
            [(p["name"], p["words"], p["bits"], "signed" if p["signed"] else "unsigned") for p in described["ports"]],
        )
        shown.say(made.equation)
        shown.say(f"latency {made.latency} cycles, {made.adders:,} adders and subtractors, no multiplier")
        if check:
            with shown.stages("check") as stages:
                report = verify(block, made, vectors=check_vectors, seed=seed, progress=stages)
            shown.result(check=report.to_json())
            shown.say(f"cells: {_pairs(report.cells)}")
            shown.say(f"proved: {report.proved}", "green")
            shown.say(
                f"{report.vectors:,} vectors through {report.gates:,} gates and {report.flip_flops:,} flip-flops: "
                "every code equal to the software's",
                "green",
            )
        if out is not None:
            write(block, made, out, vectors=vectors, seed=seed)
            shown.result(folder=str(out), vectors=vectors)
            shown.say(f"written: {out}, {vectors:,} vectors")


def _pairs(values: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())
