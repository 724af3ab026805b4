"""Options and arguments that several commands share."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and warnings.")]
Target = Annotated[pathlib.Path, typer.Argument(help="A run folder, a quantized model.onnx, or an integer.onnx.")]
Run = Annotated[pathlib.Path, typer.Argument(help="A run folder.")]
Model = Annotated[str, typer.Option(help="A model by name, or package.module:callable.")]
Data = Annotated[str, typer.Option(help="digits, fashion-mnist, a folder of IDX files, or an .npz file.")]
Out = Annotated[pathlib.Path, typer.Option(help="The run folder; it is made where it is missing.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Batch = Annotated[int, typer.Option(min=1, help="Samples at a time.")]
Epochs = Annotated[int, typer.Option(min=0, help="Passes over the training images.")]
Rate = Annotated[float, typer.Option(min=0.0, help="Highest learning rate.")]
