"""Train, quantize, export and check a torch model of one's own, one call for each.

`mfsim.train`, `mfsim.quant` and `mfsim.export` have the same steps in parts. Nothing here needs a run folder.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from mfsim import quant
from mfsim.data import Dataset, Split, as_labelled
from mfsim.errors import DataError, ExportError, ModelError
from mfsim.export.check import Source, check_codes
from mfsim.export.check import check as check_files
from mfsim.export.check_report import CheckReport, Limits
from mfsim.export.exporter import export_float, export_quantized, is_quantized
from mfsim.export.exporter import float_model as float_file
from mfsim.keywords import check_keywords
from mfsim.nn import models
from mfsim.quant import QuantizedNetwork, Recipe
from mfsim.quant.observer import as_inputs
from mfsim.train import Epoch, check_runs, fit, torch_threads
from mfsim.workflow.settings import DEFAULTS
from mfsim.workflow.steps import CALIBRATION

Labelled = Dataset | Split | str | os.PathLike[str]
"""A data set, one split of images and labels, or what `mfsim.data.load` takes."""

Inputs = np.ndarray | torch.Tensor | tuple[torch.Tensor, ...]
"""Inputs of a network: [N, ...] float32, int64 for ids; a tuple for several inputs."""


@check_keywords
def train(
    model: nn.Module | str,
    data: Labelled,
    *,
    epochs: int = DEFAULTS.epochs,
    learning_rate: float = DEFAULTS.learning_rate,
    batch_size: int = DEFAULTS.batch_size,
    seed: int = DEFAULTS.seed,
    threads: int = DEFAULTS.threads,
    progress: Callable[[Epoch, int], None] | None = None,
) -> nn.Module:
    """Train a classifier and return it in eval mode, with the weights of its best epoch on validation images.

    Parameters
    ----------
    model : module or str
        A module is trained in place. It takes float32 images [N, ...] and returns one number for each class.
        A name is one of `mfsim.nn.models.NAMES`, or package.module:callable.
    data : Dataset, Split, str or path
        Trained on is the training split of a `Dataset`, or of what `mfsim.data.load` makes of a name or path. Of
        a `Split(images, labels)` a tenth, each class in its proportion, becomes the validation split.
    epochs, batch_size : int
        At least 1.
    learning_rate : float
        The highest one; it rises first and then falls to 0.
    seed : int
        Of the order of the images, and of the first weights of a named model.
    threads : int
        Of torch meanwhile. With 1 the weights do not depend on how many cores a machine has.
    progress : callable
        Called with (`Epoch`, number of epochs) after each one.

    Returns
    -------
    module

    Raises
    ------
    DataError
        If images or labels are missing, damaged or of the wrong type.
    ModelError, ShapeError
        If the model does not suit images and labels, or the loss is no longer finite.
    """
    if not isinstance(model, str):
        _check_module("model", model)
    given = as_labelled(data)
    shape = given.train.images.shape[1:]
    network = models.create(model, shape, given.classes, seed=seed) if isinstance(model, str) else model
    check_runs(network, given.validation)
    with torch_threads(threads):
        fit(
            network,
            given.train,
            given.validation,
            epochs=epochs,
            learning_rate=learning_rate,
            batch_size=batch_size,
            seed=seed,
            progress=progress,
        )
    return network


@check_keywords
def quantize(
    model: nn.Module,
    data: Labelled | Inputs,
    recipe: Recipe | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    epochs: int = 0,
    learning_rate: float = DEFAULTS.quantized_learning_rate,
    batch_size: int = DEFAULTS.batch_size,
    seed: int = DEFAULTS.seed,
    threads: int = DEFAULTS.threads,
    progress: Callable[[Epoch, int], None] | None = None,
) -> QuantizedNetwork:
    """Return a quantized copy of a trained model: batch norms folded, scales calibrated, and trained if asked for.

    Parameters
    ----------
    model : module
        Left as it is.
    data : array, tensor, tuple of tensors, Dataset, Split, str or path
        Arrays [N, ...] calibrate, all of them. Of labelled data, as in `train`, the first 512 training images do.
    recipe : Recipe, dict, path of a TOML file, or TOML text
        Bits by layer, see `mfsim.quant.recipe`; 8-bit weights and activations by default.
    epochs : int
        Of quantization-aware training, which needs labelled data; 0 only calibrates.
    learning_rate, batch_size, seed, threads, progress
        Of quantization-aware training, as in `train`.

    Returns
    -------
    QuantizedNetwork
        In eval mode.

    Raises
    ------
    DataError
        If the inputs are not finite, or there are no labels to train with.
    RecipeError
        If the recipe does not suit the model.
    UnsupportedOpError, ModelError
        If a layer cannot be folded or quantized; the message names it.
    """
    _check_module("model", model)
    if isinstance(data, (Dataset, Split, str, os.PathLike)):
        labelled = as_labelled(data)
        inputs = as_inputs(labelled.train.first(CALIBRATION).images)
    elif epochs:
        raise DataError(
            "quantization-aware training needs labels: `data` must be a data set, its name, or "
            f"`Split(images, labels)`, not {type(data).__name__}"
        )
    else:
        inputs = as_inputs(data)
    network = quant.quantize(quant.fold(model, tuple(x[:2] for x in inputs)), _recipe(recipe), inputs)
    if epochs:
        with torch_threads(threads):
            quant.finetune(
                network,
                labelled.train,
                labelled.validation,
                epochs=epochs,
                learning_rate=learning_rate,
                batch_size=batch_size,
                seed=seed,
                progress=progress,
            )
    return network


def _check_module(name: str, model: object) -> None:
    if not isinstance(model, nn.Module):
        raise ModelError(f"`{name}` must be a torch module, not {model!r:.60}")


def _recipe(given: Recipe | Mapping[str, Any] | str | os.PathLike[str] | None) -> Recipe:
    if given is None or isinstance(given, Recipe):
        return given or Recipe()
    return Recipe.from_dict(given) if isinstance(given, Mapping) else Recipe.from_toml(given)


@check_keywords
def export(
    model: nn.Module, path: str | os.PathLike[str], example: Inputs | None = None, *, allow_inexact: bool = False
) -> pathlib.Path:
    """Write a network as an ONNX file that stock ONNX Runtime runs, and return its path.

    A quantized network becomes a file for `load`; a float network can be compared with it, but has no program.

    Parameters
    ----------
    model : QuantizedNetwork, a network of Brevitas layers, or a float module
    path : file
        Written whole or not at all.
    example : array, tensor or tuple of tensors
        Inputs [N, ...] of the right shape. Left out: those that a `QuantizedNetwork` was calibrated with.
    allow_inexact : bool
        Write a quantized network even where a sum may pass 2**24, up to which float32 is exact.

    Raises
    ------
    ModelError
        If `model` is no torch module.
    ExportError
        If there is no example, something would be lost, or the file cannot be written.
    """
    _check_module("model", model)
    given = example if example is not None else getattr(model, "example", None)
    if given is None:
        raise ExportError(
            "`example` must be inputs of the right shape, such as images[:2], for a network that has none"
        )
    inputs = as_inputs(given, "export")
    if is_quantized(model):
        export_quantized(model, inputs, path, allow_inexact=allow_inexact)
    else:
        export_float(model, inputs, path)
    return pathlib.Path(path)


@check_keywords
def check(
    quantized: QuantizedNetwork,
    model_file: Source,
    data: Labelled | Inputs,
    *,
    float_model: nn.Module | None = None,
    limits: Limits | None = None,
    batch_size: int = 128,
    progress: Callable[[str, int, int], None] | None = None,
) -> CheckReport:
    """Compare an exported file in ONNX Runtime, optimisations on and off, with the network that it came from.

    Parameters
    ----------
    quantized : QuantizedNetwork
    model_file : file or ModelProto
        What `quantized` was exported to.
    data : array, tensor, tuple of tensors, Dataset, Split, str or path
        Inputs [N, ...]; of a data set its test split.
    float_model : module
        The trained model that was quantized. It is exported too, compared up to float32 rounding, and the errors of
        quantization are measured by layer.
    limits : Limits
        What `passed` of the report asks for. By default no output code may differ, and the float file by rounding.
    batch_size : int
        At least 1.
    progress : callable
        Called with (what is compared, samples done, samples in all).

    Returns
    -------
    CheckReport
        `passed`, and `reasons` where it did not. A difference raises nothing.

    Raises
    ------
    DataError
        If there are no inputs.
    ModelError
        If the file is missing or damaged, or does not have the outputs of its model.
    """
    _check_module("quantized", quantized)
    inputs = as_inputs(_images(data), "a check")
    if float_model is None:
        return check_codes(quantized, model_file, inputs, limits=limits, batch_size=batch_size, progress=progress)
    example = tuple(x[:2] for x in inputs)
    folded = quant.fold(float_model, example).eval()
    return check_files(
        folded,
        quantized,
        float_file(folded, example),
        model_file,
        inputs,
        limits=limits,
        batch_size=batch_size,
        progress=progress,
    )


def _images(data: Labelled | Inputs) -> Inputs:
    if isinstance(data, Split):
        return data.images
    return as_labelled(data).test.images if isinstance(data, (Dataset, str, os.PathLike)) else data
