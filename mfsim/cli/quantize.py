"""`mfsim quantize`: words for everything, calibrated and trained."""

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

RunFolders = Annotated[
    pathlib.Path | None, typer.Argument(help="A run folder with a trained network.", show_default=False)
]
Model = Annotated[
    str | None,
    typer.Option(help="Quantize this model instead of a run folder; needs --checkpoint and --out.", show_default=False),
]
TrainData = Annotated[str, typer.Option(help=f"With --model: {KINDS_OF_DATA}.")]
Out = Annotated[pathlib.Path | None, typer.Option(help="With --model: the run folder to create.", show_default=False)]
RecipeFile = Annotated[
    pathlib.Path | None, typer.Option(help="TOML file with bits for each layer; default: 8 bits everywhere.")
]
Epochs = Annotated[int, typer.Option(min=0, help="Epochs of quantization-aware training; 0 only calibrates.")]


def command(
    run: RunFolders = None,
    recipe: RecipeFile = None,
    model: Model = None,
    checkpoint: Checkpoint = None,
    data: TrainData = "digits",
    option: ModelOptions = None,
    convert: Convert = None,
    out: Out = None,
    epochs: Epochs = DEFAULTS.quantized_epochs,
    learning_rate: Rate = DEFAULTS.quantized_learning_rate,
    batch_size: BatchSize = DEFAULTS.batch_size,
    seed: Seed = DEFAULTS.seed,
    threads: TorchThreads = DEFAULTS.threads,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Quantize a trained network: fold batch norms, calibrate, and fine-tune the quantized network.\f

    Parameters
    ----------
    run : path, optional
        Run folder after `mfsim train`; left out with `model`.
    recipe : path, optional
        TOML file with bits for each layer; 8 bits everywhere where left out.
    model : str, optional
        Model to quantize instead; needs `checkpoint` and `out`.
    checkpoint : path, optional
        With `model`: its trained weights, as safetensors.
    data : str
        With `model`: name or path of a data set.
    option : list of str, optional
        With `model`: its options, NAME=VALUE.
    convert : path, optional
        With `model`: TOML file with conversion rules.
    out : path, optional
        With `model`: the run folder to create.
    epochs : int
        Epochs of quantization-aware training; 0 only calibrates.
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
        if (run is None) == (model is None):
            raise typer.BadParameter("give either a run folder or --model with --checkpoint and --out")
        if model is not None and (checkpoint is None or out is None):
            raise typer.BadParameter("--model needs --checkpoint and --out")
        from mfsim.conversion import Rules
        from mfsim.quant import Recipe
        from mfsim.run_folder import RunFolder
        from mfsim.workflow.steps import quantize_step, train_step

        settings = Settings(
            quantized_epochs=epochs,
            quantized_learning_rate=learning_rate,
            batch_size=batch_size,
            seed=seed,
            threads=threads,
        )
        chosen = Recipe.from_toml(recipe) if recipe is not None else Recipe()
        if model is not None and out is not None:
            options = model_options(option)
            rules = Rules.from_toml(convert) if convert is not None else None
            with RunFolder.new(out) as folder:
                train_step(folder, model, data, settings, options=options, rules=rules, checkpoint=checkpoint)
        else:
            folder = RunFolder.open(run or "")
        with shown.stages(str(folder)) as stages:
            quantize_step(folder, chosen, settings, progress=stages)
        about = folder.read()
        accuracy = about["accuracy"]
        shown.result(**about)
        shown.say(f"accuracy on the test images: float {accuracy['float']:.2%}, quantized {accuracy['quantized']:.2%}")
        shown.say(f"next: mfsim export {folder}")
