"""Watch a float network run: what the inputs of its layers and its outputs look like."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from mfsim.errors import DataError, ModelError

KEPT = 1 << 14
"""Values kept of each tensor of each batch, evenly spread over it."""

RESULT = -1
"""Stands for the result of a module where others are numbers of its inputs."""


@dataclass(frozen=True)
class Place:
    """One place of a network: an input of the module at `path`, by number, or its `RESULT`."""

    path: str
    port: int = 0


@dataclass
class Observed:
    """Values that one place of the network has taken; `shape` is that of one sample."""

    low: float = float("inf")
    high: float = float("-inf")
    finite: bool = True
    parts: list[np.ndarray] = field(default_factory=list)
    shape: tuple[int, ...] = ()

    def add(self, x: torch.Tensor) -> None:
        """Take in the values of one batch.

        Parameters
        ----------
        x : float tensor, shape [N, ...]
            At least one value; about 16384 of them at most are kept.
        """
        self.shape = tuple(x.shape[1:])
        flat = x.detach().reshape(-1)
        low, high = (float(end) for end in torch.aminmax(flat))
        self.finite &= math.isfinite(low + high)  # NaN itself would be lost in min and max
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.parts.append(flat[:: -(-len(flat) // KEPT)].numpy().astype(np.float64))

    @property
    def values(self) -> np.ndarray:
        """The kept values."""
        return np.concatenate(self.parts)

    @property
    def largest(self) -> float:
        """The largest magnitude seen."""
        return max(-self.low, self.high, 0.0)


def as_tensors(images: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Return one or several inputs as a tuple of tensors.

    Parameters
    ----------
    images : array, tensor, or tuple of tensors, each of shape [N, ...]

    Returns
    -------
    tuple of tensors
        float32; int64, which numbers rows of embeddings, stays.
    """
    inputs = tuple(torch.as_tensor(x) for x in (images if isinstance(images, tuple) else (images,)))
    return tuple(x if x.dtype == torch.int64 else x.float() for x in inputs)


def as_inputs(
    images: np.ndarray | torch.Tensor | tuple[torch.Tensor, ...], purpose: str = "calibration"
) -> tuple[torch.Tensor, ...]:
    """Return the inputs of a network as checked tensors.

    Parameters
    ----------
    images : array, tensor, or tuple of tensors, each of shape [N, ...]
        One for each input, of one N of at least 1.
    purpose : str
        What messages call the use of the images.

    Returns
    -------
    tuple of tensors
        float32, or int64 as given.

    Raises
    ------
    DataError
        If inputs have no samples or differ in their number, or a value is NaN or infinite.
    """
    inputs = as_tensors(images)
    counts = sorted({len(x) if x.ndim else 0 for x in inputs})
    if len(counts) != 1 or not counts[0]:
        raise DataError(f"{purpose} needs equally many images for each input, at least one, not {counts}")
    if not all(torch.isfinite(x).all() for x in inputs):
        raise DataError(f"the {purpose} images hold NaN or infinite values")
    return inputs


def floats(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return those of `inputs` that are no integers, and so have a quantizer.

    Parameters
    ----------
    inputs : sequence of tensors

    Returns
    -------
    list of tensors
    """
    return [x for x in inputs if x.is_floating_point()]


def as_outputs(result: object) -> tuple[torch.Tensor, ...]:
    """Return the outputs of a network as a tuple of tensors.

    Parameters
    ----------
    result : object
        What the network returned.

    Returns
    -------
    tuple of tensors
        At least one.

    Raises
    ------
    ModelError
        If `result` is no tensor and no tuple or list of tensors.
    """
    outputs = (result,) if isinstance(result, torch.Tensor) else result
    if not isinstance(outputs, (tuple, list)) or not outputs or not all(isinstance(y, torch.Tensor) for y in outputs):
        raise ModelError(f"the network must return a tensor or a tuple of tensors, not a {type(result).__name__}")
    return tuple(outputs)


@torch.no_grad()
def observe(
    model: nn.Module, images: tuple[torch.Tensor, ...], places: Mapping[str, Place], batch_size: int = 128
) -> tuple[dict[str, Observed], list[Observed], list[Observed]]:
    """Return the values that a run of a network takes at `places`, at its outputs and at its float inputs.

    Parameters
    ----------
    model : torch.nn.Module
        It runs in eval mode, and is then as before.
    images : tuple of tensors, each of shape [N, ...]
        One for each input.
    places : mapping of str to Place
    batch_size : int, at least 1
        Samples that run at once.

    Returns
    -------
    tuple of (dict of str to Observed, list of Observed, list of Observed)
        By name of the place; for each output; for each input that is no integers.

    Raises
    ------
    ModelError
        If a module of a place never ran, or a value became NaN or infinite.
    """
    entrances = [Observed() for _ in floats(images)]
    inside: dict[str, Observed] = {name: Observed() for name in places}
    outputs: list[Observed] = []
    hooks = [_watch(model.get_submodule(place.path), place.port, inside[name]) for name, place in places.items()]
    training = model.training
    model.eval()
    try:
        for start in range(0, len(images[0]), batch_size):
            batch = tuple(x[start : start + batch_size] for x in images)
            for seen, x in zip(entrances, floats(batch), strict=True):
                seen.add(x)
            for k, y in enumerate(as_outputs(model(*batch))):
                if k == len(outputs):
                    outputs.append(Observed())
                outputs[k].add(y)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    for name, seen in inside.items():
        path = places[name].path
        if not seen.parts:
            raise ModelError(f"layer `{path}` did not run on the calibration images, so it has no scale")
        if not seen.finite:
            raise ModelError(f"what layer `{path}` meets became NaN or infinite on the calibration images")
    if not all(seen.finite for seen in outputs):
        raise ModelError("the output of the network became NaN or infinite on the calibration images")
    return inside, outputs, entrances


def _watch(module: nn.Module, port: int, seen: Observed) -> RemovableHandle:
    """Let `seen` take in what passes one port of `module`."""
    if port == RESULT:
        return module.register_forward_hook(lambda module, arguments, result: seen.add(result))
    return module.register_forward_pre_hook(lambda module, arguments: seen.add(arguments[port]))
