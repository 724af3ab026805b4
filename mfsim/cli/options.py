"""Options and arguments that several commands share."""

from __future__ import annotations

import contextlib
import math
import pathlib
from typing import Annotated, Literal

import typer

KINDS_OF_DATA = "digits, fashion-mnist, or a path: CIFAR-10, a folder of pictures or of IDX files, an .npz file"
ModelOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Option of the model, such as width=32; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and warnings.")]
Target = Annotated[pathlib.Path, typer.Argument(help="A run folder, a quantized model.onnx, or an integer.onnx.")]
Run = Annotated[pathlib.Path, typer.Argument(help="A run folder.")]
ArrayName = Annotated[str, typer.Option("--array", help="Array: mf-net-8x62, mf-net-8x30, wht-16x16, or a TOML file.")]
Data = Annotated[
    str | None,
    typer.Option(help=f"{KINDS_OF_DATA}; default: the data of the run."),
]
SplitName = Annotated[Literal["test", "validation", "train"], typer.Option("--split", help="Split of the data set.")]
Checkpoint = Annotated[pathlib.Path | None, typer.Option(help="Trained weights, as safetensors.", show_default=False)]
Convert = Annotated[
    pathlib.Path | None,
    typer.Option("--convert", help="TOML file with conversion rules; see `mfsim convert`.", show_default=False),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Batch size.")]
Rate = Annotated[float, typer.Option(min=0.0, help="Peak learning rate.")]
TorchThreads = Annotated[
    int, typer.Option("--threads", min=1, help="Number of torch threads; 1 is fastest for small networks.")
]


def model_options(given: list[str] | None) -> dict[str, bool | float | int | str]:
    """Return NAME=VALUE pairs as a dict; true, false and numbers become what they say, anything else stays text.

    Parameters
    ----------
    given : list of str or None
        Texts of the form NAME=VALUE.

    Returns
    -------
    dict of str to bool, int, float or str
        Values by name.

    Raises
    ------
    typer.BadParameter
        If a text has another form, or a name is given twice.

    Examples
    --------
    >>> model_options(["width=32", "form=abs", "residual=false", "scale=0.5"])
    {'width': 32, 'form': 'abs', 'residual': False, 'scale': 0.5}
    """
    options: dict[str, bool | float | int | str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not name.isidentifier() or not equals:
            raise typer.BadParameter(f"`--option` must be NAME=VALUE, not {text!r}")
        if name in options:
            raise typer.BadParameter(f"`--option` {name} is given twice")
        options[name] = _value(value)
    return options


def _value(text: str) -> bool | float | int | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        return float(text) if math.isfinite(float(text)) else text
    return text
