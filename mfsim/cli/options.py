"""Options and arguments that several commands share."""

from __future__ import annotations

import pathlib
from typing import Annotated, Literal

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and warnings.")]
Target = Annotated[pathlib.Path, typer.Argument(help="A run folder, a quantized model.onnx, or an integer.onnx.")]
Run = Annotated[pathlib.Path, typer.Argument(help="A run folder.")]
Data = Annotated[
    str | None,
    typer.Option(help="digits, fashion-mnist, a folder of IDX files, or an .npz file; default the run's own."),
]
SplitName = Annotated[Literal["test", "validation", "train"], typer.Option("--split", help="Which images.")]
Checkpoint = Annotated[
    pathlib.Path | None, typer.Option(help="Weights that are trained already, as safetensors.", show_default=False)
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
BatchSize = Annotated[int, typer.Option(min=1, help="Samples at a time.")]
Rate = Annotated[float, typer.Option(min=0.0, help="Highest learning rate.")]
TorchThreads = Annotated[
    int, typer.Option("--threads", min=1, help="Threads of torch; one is quickest for small networks.")
]
