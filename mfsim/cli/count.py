"""`mfsim count`: the operations of one sample, of a quantized network or of a float one."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mfsim.cli.options import Debug, Json, ModelOptions, model_options
from mfsim.cli.session import Session, session

if TYPE_CHECKING:
    from mfsim.analysis import CountReport

Subject = Annotated[
    str,
    typer.Argument(
        help="A run folder, a quantized model.onnx or an integer.onnx; with --input a float model, by name or as package.module:callable."
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="SHAPE",
        help="Shape of an input of a float model, such as 3x32x32, or 128:int for tokens; repeatable.",
    ),
]
Classes = Annotated[int, typer.Option(min=2, help="Number of classes of a float model.")]
Rule = Annotated[
    Literal["full", "paper"], typer.Option(help="full counts everything, paper the multiplications that papers count.")
]


def _taps(value: str) -> str:
    from mfsim.analysis.count import check_taps
    from mfsim.errors import CountError

    try:
        check_taps(value)
    except CountError as error:
        raise typer.BadParameter(str(error)) from error
    return value


Taps = Annotated[
    str,
    typer.Option(
        metavar="[executed|valid]",
        callback=_taps,
        help="executed counts all taps of windows, valid only those inside the image.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict-multiplication-free", help="Fail if anything between input and output codes multiplies."),
]
Allow = Annotated[bool, typer.Option("--allow-uncounted", help="List what cannot be counted instead of failing.")]


def command(
    target: Subject,
    inputs: Inputs = None,
    option: ModelOptions = None,
    classes: Classes = 10,
    rule: Rule = "full",
    taps: Taps = "executed",
    strict: Strict = False,
    allow_uncounted: Allow = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Count the operations of one sample, by layer and primitive, with operand widths.\f

    Parameters
    ----------
    target : str
        Run folder, quantized model.onnx or integer.onnx; with `inputs` a float model by name.
    inputs : list of str, optional
        Shape of each input of a float model, such as "3x32x32" or "128:int".
    option : list of str, optional
        Options of the float model, NAME=VALUE.
    classes : int
        Number of classes of the float model, at least 2.
    rule : {"full", "paper"}
        Counting rule.
    taps : {"executed", "valid"}
        Which taps of a window are counted.
    strict : bool
        Whether a multiplication between input and output codes is an error.
    allow_uncounted : bool
        Whether to list what cannot be counted instead of failing.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    options = model_options(option)
    if not inputs and options:
        raise typer.BadParameter("`--option` is for float models, which need `--input`")
    if inputs and strict:
        raise typer.BadParameter("`--strict-multiplication-free` proves it of integers; quantize the float model first")
    with session(json, debug) as out:
        if inputs:
            _count_module(out, target, inputs, options, classes, rule, allow_uncounted, taps)
        else:
            _count_program(out, pathlib.Path(target), rule, strict, allow_uncounted, taps)


def _count_program(
    out: Session, target: pathlib.Path, rule: str, strict: bool, allow_uncounted: bool, taps: str
) -> None:
    from mfsim.analysis import count, memory, strict_multiplication_free
    from mfsim.run_folder import RunFolder, load_program

    program = load_program(target)
    report = count(program, rule, allow_uncounted, taps)
    if target.is_dir():
        RunFolder.open(target).write("count.json", report.to_json())
    needed = memory(program)
    out.result(**report.to_json(), memory=needed.summary(), multiplication_free=False)
    _show(out, report)
    if needed.cache is not None:
        out.say(
            f"caches: {needed.cache.bytes_per_token:,} bytes for each token, "
            f"{needed.total_bytes('cache'):,} for {needed.cache.rows:,} tokens"
        )
    if strict:
        strict_multiplication_free(report if (rule, taps) == ("full", "executed") else program)
        out.result(multiplication_free=True)
        out.say("multiplication-free: no mul, div or sqrt between input and output codes", "green")


def _count_module(
    out: Session,
    target: str,
    inputs: list[str],
    options: dict[str, Any],
    classes: int,
    rule: str,
    allow_uncounted: bool,
    taps: str,
) -> None:
    from mfsim.nn import models
    from mfsim.op_counter import Input, count_module

    examples = [Input.parse(text) for text in inputs]
    images = [example.shape for example in examples if len(example.shape) == 3]
    shape = images[0] if images else (1, 1, 1)
    found = count_module(
        lambda: models.create(target, shape, classes, **options), examples, rule, allow_uncounted, taps
    )
    out.result(**found.report.to_json(), parameters=found.parameters)
    _show(out, found.report)
    out.say(f"{found.parameters:,} parameters")


def _show(out: Session, report: CountReport) -> None:
    listings = {listing.name: listing for listing in report.listings()}
    out.listing(listings["operations_by_layer"], "Operations of one sample, by layer")
    out.listing(listings["operations_by_width"], "By operand widths, in bits")
    for name in ("operations_offline", "multiplications", "multiplications_by_class", "tables", "uncounted"):
        if listings[name].rows and any(cell for row in listings[name].rows for cell in row[1:]):
            out.listing(listings[name])
    out.say(
        f"{report.total:,} operations for one sample, {sum(r.count for r in report.multiplications()):,} multiplications"
    )
