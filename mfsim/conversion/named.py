"""Convert a model that is given by name, as `mfsim train` takes it, with weights from and to files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from mfsim.conversion.convert import convert
from mfsim.conversion.report import Conversion
from mfsim.conversion.rules import Rules
from mfsim.nn import models
from mfsim.nn.checkpoint import load_checkpoint, save_checkpoint

UNKNOWN_SHAPE = (1, 8, 8)
"""Images that a model which takes their shape is made for where none is given."""


def convert_named(
    model: str,
    rules: Rules,
    *,
    input_shape: Sequence[int] | None = None,
    classes: int = 10,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Conversion:
    """Return the conversion of the model called `model`.

    Parameters
    ----------
    model : a name of `mfsim.nn.models`, or package.module:callable.
    rules : as in `mfsim.convert`.
    input_shape : (C, H, W) of an image; if given, the converted model is run on two of zeros.
    classes, options, seed : as in `mfsim.nn.models.create`; `seed` is also that of new layers.
    checkpoint : a safetensors file with weights of the model before it is converted.
    out : a safetensors file to write the converted weights to.

    Raises
    ------
    MfsimError
        Of every kind that making, filling and converting the model raise.
    """
    network = models.create(model, input_shape or UNKNOWN_SHAPE, classes, seed=seed, **(options or {}))
    if checkpoint is not None:
        load_checkpoint(network, checkpoint)
    example = torch.zeros(2, *input_shape) if input_shape is not None else None
    conversion = convert(network, rules, example=example, seed=seed)
    if out is not None:
        save_checkpoint(conversion.model, out)
    return conversion
