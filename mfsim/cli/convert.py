"""`mfsim convert`: what rules make of a torch model."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import Debug, Json, ModelOptions, Seed, model_options
from mfsim.cli.session import session

Model = Annotated[str, typer.Argument(help="package.module:callable, or the name of a built-in model.")]
RulesFile = Annotated[pathlib.Path, typer.Option("--rules", help="TOML file with conversion rules.")]
InputShape = Annotated[
    str | None,
    typer.Option(metavar="C,H,W", help="Shape of an image; run the converted model on one.", show_default=False),
]
Classes = Annotated[int, typer.Option(min=2, help="Number of classes, for models that take it.")]
Weights = Annotated[
    pathlib.Path | None,
    typer.Option("--checkpoint", help="Weights of the model before conversion, as safetensors.", show_default=False),
]
Out = Annotated[
    pathlib.Path | None,
    typer.Option(help="Write the converted weights to this file, for `mfsim train --start`.", show_default=False),
]


def command(
    model: Model,
    rules: RulesFile,
    input_shape: InputShape = None,
    classes: Classes = 10,
    option: ModelOptions = None,
    checkpoint: Weights = None,
    out: Out = None,
    seed: Seed = 0,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what conversion rules do to each layer of a model; `mfsim train --convert` trains the result.\f

    Parameters
    ----------
    model : str
        package.module:callable, or the name of a built-in model.
    rules : path
        TOML file with conversion rules.
    input_shape : str, optional
        Shape of an image, C,H,W; the converted model runs on one.
    classes : int
        Number of classes, at least 2, for models that take it.
    option : list of str, optional
        Options of the model, NAME=VALUE.
    checkpoint : path, optional
        Weights before conversion, as safetensors.
    out : path, optional
        File that the converted weights are written to.
    seed : int
        Seed of all random numbers, at least 0.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    shape = _shape(input_shape) if input_shape is not None else None
    with session(json, debug) as shown:
        from mfsim.conversion import Rules
        from mfsim.conversion.named import convert_named

        chosen = Rules.from_toml(rules)
        conversion = convert_named(
            model,
            chosen,
            input_shape=shape,
            classes=classes,
            options=model_options(option),
            seed=seed,
            checkpoint=checkpoint,
            out=out,
        )
        shown.result(model=model, rules=chosen.to_list(), **conversion.to_json())
        for title, (columns, rows) in zip(("Converted", "Left as they are"), conversion.tables(), strict=True):
            shown.table(title, columns, rows)
        shown.say(conversion.summary())
        if out is not None:
            shown.result(checkpoint=str(out))
            shown.say(f"next: mfsim train --model {model} --convert {rules} --start {out}")


def _shape(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
        raise typer.BadParameter(f"`--input-shape` must be C,H,W such as 3,32,32, not {text!r}")
    return tuple(int(part) for part in parts)
