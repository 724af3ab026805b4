"""`mfsim train`: a float network on labelled images."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from mfsim.cli.options import (
    KINDS_OF_DATA,
    BatchSize,
    Checkpoint,
    Convert,
    Debug,
    Json,
    ModelOptions,
    Rate,
    Seed,
    TorchThreads,
    model_options,
)
from mfsim.cli.session import session
from mfsim.workflow.settings import DEFAULTS, Settings

Model = Annotated[str, typer.Option(help="A built-in model, such as mf-cnn or mini-vit, or package.module:callable.")]
TrainData = Annotated[str, typer.Option(help=f"{KINDS_OF_DATA}.")]
Out = Annotated[pathlib.Path, typer.Option(help="The run folder; created if it is missing.")]
Start = Annotated[
    pathlib.Path | None, typer.Option(help="Initial weights for training, as safetensors.", show_default=False)
]
Epochs = Annotated[int, typer.Option(min=1, help="Epochs of training.")]


def command(
    model: Model,
    out: Out,
    data: TrainData = "digits",
    option: ModelOptions = None,
    convert: Convert = None,
    start: Start = None,
    checkpoint: Checkpoint = None,
    epochs: Epochs = DEFAULTS.epochs,
    learning_rate: Rate = DEFAULTS.learning_rate,
    batch_size: BatchSize = DEFAULTS.batch_size,
    seed: Seed = DEFAULTS.seed,
    threads: TorchThreads = DEFAULTS.threads,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Train a float network, keep the best epoch on the validation split, and create its run folder.\f

    Parameters
    ----------
    model : str
        Name of a built-in model, or package.module:callable.
    out : path
        Run folder; created if it is missing.
    data : str
        Name or path of a data set.
    option : list of str, optional
        Options of the model, NAME=VALUE.
    convert : path, optional
        TOML file with conversion rules.
    start : path, optional
        Initial weights for training, as safetensors.
    checkpoint : path, optional
        Trained weights, as safetensors, which are not trained further.
    epochs : int
        Epochs, at least 1.
    learning_rate : float
        Peak learning rate, at least 0.
    batch_size : int
        Batch size, at least 1.
    seed : int
        Seed of all random numbers, at least 0.
    threads : int
        Torch threads, at least 1.
    json : bool
        Whether to print one JSON object on stdout and nothing else.
    debug : bool
        Whether to show tracebacks and warnings.
    """  # noqa: D301, D400
    with session(json, debug) as shown:
        if start is not None and checkpoint is not None:
            raise typer.BadParameter("give either --start, which is trained, or --checkpoint, which is not")
        from mfsim.conversion import Rules
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.steps import train_step

        settings = Settings(
            epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, seed=seed, threads=threads
        )
        options = model_options(option)
        rules = Rules.from_toml(convert) if convert is not None else None
        with RunFolder.new(out) as run, shown.stages(model) as stages:
            about = train_step(
                run,
                model,
                data,
                settings,
                options=options,
                rules=rules,
                start=start,
                checkpoint=checkpoint,
                progress=stages,
            )
        shown.result(**about)
        shown.say(
            f"{about['accuracy']['float']:.2%} of {about['samples']['test']} test images are classified correctly"
        )
        shown.say(f"next: mfsim quantize {out}")
