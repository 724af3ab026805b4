"""A network's way from data to a report, one function for each step, all in one run folder.

    train -> quantize -> export -> check -> compile -> simulate -> count -> report

Each step reads files of the folder and writes its own (`mfsim.run_folder.STEPS`), so the command line, the
demo and a script of one's own do the same things. A step that runs again removes what later steps had
made from its old result. Bit-true verification has a file of its own, `mfsim/workflow/verify.py`.
"""

from __future__ import annotations

import os
import pathlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim import data as datasets
from mfsim import quant
from mfsim.analysis import CountReport, count
from mfsim.analysis.listing import write_text
from mfsim.compiler import compile_model
from mfsim.conversion import Rules, convert
from mfsim.errors import DataError
from mfsim.export.check import check
from mfsim.export.check_report import CheckReport, Limits
from mfsim.export.exporter import export_float, export_quantized
from mfsim.ir.program import Program
from mfsim.keywords import check_keywords
from mfsim.nn import models
from mfsim.nn.checkpoint import load_checkpoint, save_checkpoint
from mfsim.parity.file_error import OutputError, measure
from mfsim.quant import QuantizedNetwork, Recipe
from mfsim.report import NetworkResult
from mfsim.run_folder import RunFolder
from mfsim.serialize.write import write_integer
from mfsim.train import Epoch, accuracy, check_runs, fit, torch_threads
from mfsim.workflow.images import chosen, load_data
from mfsim.workflow.settings import Settings
from mfsim.workflow.summary import summary, tool_versions
from mfsim.workflow.verify import simulate_step

Progress = Callable[[str, int, int], None]
"""Called with (what is done, steps done, steps in all)."""

CALIBRATION = 512
"""Training images that choose the scales of activations."""


def _silent(what: str, done: int, total: int) -> None:
    """Show no progress."""


def train_step(
    run: RunFolder,
    model: str,
    data: str,
    settings: Settings | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    rules: Rules | None = None,
    name: str = "",
    start: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Train a float network, or take the weights of a `checkpoint`; return the content of run.json.

    Parameters
    ----------
    run : made by `RunFolder.create` or `RunFolder.new`.
    model : a name of `mfsim.nn.models`, or package.module:callable.
    data : what `mfsim.data.load` takes.
    settings : by default `Settings()`.
    options : what the model is made with, such as width.
    rules : swap layers of the model before anything else; see `mfsim.convert`.
    name : in the report; by default the folder's.
    start : a safetensors file with the weights that training starts from.
    checkpoint : a safetensors file; nothing is trained then.
    progress : called with (what is done, steps done, steps in all).

    Raises
    ------
    DataError, ModelError, ShapeError, UnsupportedOpError
        If data, model or checkpoint cannot be used or do not suit each other.
    """
    settings = settings or Settings()
    dataset = datasets.load(data)
    origin: dict[str, Any] = {
        "model": model,
        "options": dict(options or {}),
        **({"convert": rules.to_list()} if rules is not None else {}),
        "seed": settings.seed,
        "data": data,
        "input_shape": list(dataset.input_shape),
        "classes": dataset.classes,
    }
    network = fresh(origin)
    check_runs(network, dataset.validation)
    if start is not None:
        load_checkpoint(network, start)
    began = time.monotonic()
    training: dict[str, object]
    if checkpoint is not None:
        load_checkpoint(network, checkpoint)
        training = {"checkpoint": pathlib.Path(checkpoint).name}
    else:
        with torch_threads(settings.threads):
            history = fit(
                network,
                dataset.train,
                dataset.validation,
                epochs=settings.epochs,
                learning_rate=settings.learning_rate,
                batch_size=settings.batch_size,
                seed=settings.seed,
                progress=_epochs("train", progress),
            )
        training = {
            "epochs": settings.epochs,
            "learning_rate": settings.learning_rate,
            "batch_size": settings.batch_size,
            "best_epoch": history.best.number,
            "validation_accuracy": history.best.validation_accuracy,
        } | ({"start": pathlib.Path(start).name} if start is not None else {})
    float_accuracy = accuracy(network, dataset.test)
    run.forget_from("train")
    save_checkpoint(network, run.file("float.safetensors"))
    about = {
        "name": name or run.path.resolve().name,
        **origin,
        "samples": {split: len(getattr(dataset, split)) for split in ("train", "validation", "test")},
        "training": training | {"seconds": round(time.monotonic() - began, 1)},
        "accuracy": {"float": float_accuracy},
        "tools": tool_versions(),
    }
    run.write("run.json", about)
    return about


def fresh(about: Mapping[str, Any]) -> nn.Module:
    """Return the network that a run.json describes, converted if it says so, with its first weights.

    Parameters
    ----------
    about : content of a run.json
    """
    seed = about["seed"]
    network = models.create(
        about["model"], tuple(about["input_shape"]), about["classes"], seed=seed, **about["options"]
    )
    return convert(network, about["convert"], seed=seed).model if "convert" in about else network


def _load_float(run: RunFolder) -> nn.Module:
    """Return the trained float network of a run folder, in eval mode."""
    return load_checkpoint(fresh(run.read()), run.need("float.safetensors")).eval()


def _load_folded(run: RunFolder) -> nn.Module:
    """Return the float network with its batch norms folded: what float.onnx holds."""
    return quant.fold(_load_float(run), torch.zeros(2, *run.read()["input_shape"])).eval()


def load_quantized(run: RunFolder) -> QuantizedNetwork:
    """Return the quantized network of a run folder, in eval mode.

    Parameters
    ----------
    run : with quantized.safetensors
    """
    return quant.load(run.need("quantized.safetensors"), _load_float(run))


def quantize_step(
    run: RunFolder, recipe: Recipe | None = None, settings: Settings | None = None, *, progress: Progress = _silent
) -> QuantizedNetwork:
    """Fold, calibrate on training images, and train the quantized network; return it.

    Parameters
    ----------
    run : with float.safetensors
    recipe : 8-bit words by default
    settings : of the training; those of the demo by default
    progress : see `Progress`

    Raises
    ------
    RecipeError, UnsupportedOpError
        If the recipe does not suit the network, or a layer cannot be quantized.
    """
    recipe, settings = recipe or Recipe(), settings or Settings()
    dataset = load_data(run)
    start = time.monotonic()
    network = quant.quantize(_load_folded(run), recipe, dataset.train.first(CALIBRATION).images)
    about: dict[str, object] = {
        "epochs": settings.quantized_epochs,
        "after_calibration": accuracy(network, dataset.validation),
    }
    if settings.quantized_epochs:
        with torch_threads(settings.threads):
            history = quant.finetune(
                network,
                dataset.train,
                dataset.validation,
                epochs=settings.quantized_epochs,
                learning_rate=settings.quantized_learning_rate,
                batch_size=settings.batch_size,
                seed=settings.seed,
                progress=_epochs("quantize", progress),
            )
        about |= {"learning_rate": settings.quantized_learning_rate, "best_epoch": history.best.number}
    about["validation_accuracy"] = accuracy(network, dataset.validation)
    run.forget_from("quantize")
    write_text(run.file("recipe.toml"), recipe.to_toml())
    quant.save(network, run.file("quantized.safetensors"))
    run.update(
        quantization=about | {"seconds": round(time.monotonic() - start, 1)},
        accuracy={"float": run.read()["accuracy"]["float"], "quantized": accuracy(network, dataset.test)},
    )
    return network


def _epochs(what: str, progress: Progress) -> Callable[[Epoch, int], None]:
    return lambda epoch, total: progress(what, epoch.number, total)


def export_step(run: RunFolder, *, allow_inexact: bool = False) -> None:
    """Write float.onnx and model.onnx.

    Parameters
    ----------
    run : with quantized.safetensors
    allow_inexact : write it although a sum may pass 2**24
    """
    folded, quantized = _load_folded(run), load_quantized(run)
    example = torch.zeros(2, *run.read()["input_shape"])
    run.forget_from("export")
    export_float(folded, example, run.file("float.onnx"))
    export_quantized(quantized, example, run.file("model.onnx"), allow_inexact=allow_inexact)


def check_step(
    run: RunFolder,
    data: str | None = None,
    *,
    limits: Limits | None = None,
    split: str = "test",
    progress: Progress = _silent,
) -> CheckReport:
    """Compare float.onnx and model.onnx in ONNX Runtime with their torch models; write check.json.

    Parameters
    ----------
    run : with float.onnx and model.onnx
    data : a data set in place of the one it was trained on
    limits : what makes it pass
    split : "train", "validation" or "test"
    progress : see `Progress`
    """
    report = check(
        _load_folded(run),
        load_quantized(run),
        run.need("float.onnx"),
        run.need("model.onnx"),
        chosen(load_data(run, data), split).images,
        limits=limits,
        progress=progress,
    )
    run.write("check.json", report.to_json())
    return report


def compile_file(
    model: str | os.PathLike[str], path: str | os.PathLike[str], *, multiplier_bits: int | None = None
) -> Program:
    """Compile a quantized file (see `compile_model`), write the program to `path`, and return it.

    Parameters
    ----------
    model : path of an ONNX file
    path : of the integer.onnx to write
    multiplier_bits : 0, or 2 to 62; see `compile_model`
    """
    program = compile_model(model, multiplier_bits=multiplier_bits)
    write_integer(program, path)
    return program


def measure_file(model: str | os.PathLike[str], program: Program, inputs: str | os.PathLike[str]) -> list[OutputError]:
    """Compare `program` with its source file in ONNX Runtime, on the inputs in a .npy file.

    Raises `DataError` if that cannot be read.

    Parameters
    ----------
    model : path of the ONNX file
    program : compiled from it
    inputs : path of a .npy file, [N, ...]
    """
    try:
        values = np.load(inputs, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(f"`{inputs}` must be a .npy file of inputs: {error}") from error
    return measure(model, program, values)


def compile_step(run: RunFolder) -> Program:
    """Compile model.onnx of the run folder to integer.onnx and return the program.

    Parameters
    ----------
    run : with model.onnx
    """
    program = compile_model(run.need("model.onnx"))
    run.forget_from("compile")
    write_integer(program, run.file("integer.onnx"))
    return program


def _count_step(run: RunFolder, program: Program) -> CountReport:
    """Count the program by the full rule, write count.json, and return the report."""
    report = count(program)
    run.write("count.json", report.to_json())
    return report


@check_keywords
def run_network(
    folder: str | os.PathLike[str],
    model: str,
    data: str,
    settings: Settings | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    rules: Rules | None = None,
    recipe: Recipe | None = None,
    name: str = "",
    progress: Progress = _silent,
) -> NetworkResult:
    """Run every step for one network in `folder` and return its results.

    Parameters
    ----------
    folder : the run folder; made where it is missing.
    model : a name of `mfsim.nn.models`, or package.module:callable.
    data : what `mfsim.data.load` takes.
    options : what the model is made with, such as width.
    rules : swap layers of the model before anything else; see `mfsim.convert`.
    settings, recipe : by default 8-bit words and quantization-aware training.
    name : in the report; by default the folder's.
    progress : called with (what is done, steps done, steps in all).

    Raises
    ------
    MfsimError
        Of every kind that the steps raise. Realisations that differ raise nothing: see
        `NetworkResult.parity`, and `check.json` for the comparison with float.
    """
    settings = settings or Settings()
    with RunFolder.new(folder) as run:
        train_step(run, model, data, settings, options=options, rules=rules, name=name, progress=progress)
    quantize_step(run, recipe, settings, progress=progress)
    progress("export", 0, 1)
    export_step(run)
    check_step(run, progress=progress)
    progress("compile", 0, 1)
    program = compile_step(run)
    images = load_data(run).test
    simulate_step(
        run, program, images, quantized=load_quantized(run), references=settings.reference_samples, progress=progress
    )
    _count_step(run, program)
    return summary(run)
