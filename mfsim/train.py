"""Train a classifier: AdamW, one-cycle learning rate, averaged weights, best epoch by the validation split.

After each epoch the statistics of every batch norm are taken anew from training images. One step that
flips a few signs moves the sums of a multiplication-free layer so far that running averages lag behind:
on digits, networks at 95 to 99 % with fresh statistics were at 25 to 98 % with running ones until the
learning rate had died away. For the same reason the network that is kept has the running average of the
weights over some 50 steps, in which single flips of signs do not show.

The order of the batches comes from a generator of its own, so that training neither depends on nor
disturbs the global random state, and two runs on one machine with one thread number are equal.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from mfsim.data.dataset import Split
from mfsim.errors import ModelError, ShapeError
from mfsim.keywords import check_keywords
from mfsim.nn import ShiftBatchNorm1d

WARMUP = 0.2
"""Part of the steps in which the learning rate rises, unless told otherwise."""

AVERAGE = 0.98
"""Greatest weight of the running average of the weights against the newest ones; less at first."""

STATISTICS_IMAGES, STATISTICS_BATCH = 2048, 512
"""How many training images batch norm statistics are taken from, and how many at a time."""


@dataclass(frozen=True)
class Epoch:
    """Figures of one epoch: mean training loss, and loss and accuracy on validation."""

    number: int
    loss: float
    validation_loss: float
    validation_accuracy: float


@dataclass(frozen=True)
class History:
    """All epochs, from number 1, and the one whose weights the model has now."""

    epochs: tuple[Epoch, ...]
    best: Epoch


def _tensors(split: Split) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(split.images), torch.from_numpy(split.labels)


@check_keywords
@torch.no_grad()
def logits(model: torch.nn.Module, images: torch.Tensor | np.ndarray, batch_size: int = 256) -> torch.Tensor:
    """Return the outputs [N, classes] of `model` in eval mode for images [N, C, H, W]; its mode is restored.

    Parameters
    ----------
    model : torch.nn.Module
        Classifier.
    images : tensor or array, shape (N, C, H, W)
        Images, N at least 1.
    batch_size : int
        Images of one call, at least 1.

    Returns
    -------
    tensor, shape (N, classes)
        Outputs.
    """
    images = torch.as_tensor(images)
    training = model.training
    model.eval()
    try:
        outputs = [model(images[start : start + batch_size]) for start in range(0, len(images), batch_size)]
    finally:
        model.train(training)
    return torch.cat(outputs)


def _evaluate(model: torch.nn.Module, split: Split, label_smoothing: float = 0.0) -> tuple[float, float]:
    """Return (mean cross entropy, accuracy)."""
    outputs, labels = logits(model, split.images), torch.from_numpy(split.labels)
    if outputs.ndim != 2 or len(outputs) != len(labels) or int(labels.max()) >= outputs.shape[1]:
        raise ShapeError(
            f"the model must return one number for each image and class, "
            f"[{len(labels)}, at least {int(labels.max()) + 1}], not {tuple(outputs.shape)}"
        )
    loss = F.cross_entropy(outputs, labels, label_smoothing=label_smoothing).item()
    return loss, (outputs.argmax(1) == labels).double().mean().item()


@check_keywords
def accuracy(model: torch.nn.Module, split: Split) -> float:
    """Return the fraction of images that `model`, in eval mode, classifies as labelled.

    Parameters
    ----------
    model : torch.nn.Module
        Classifier.
    split : Split
        Images (N, C, H, W) and labels (N,).

    Returns
    -------
    float
        Fraction in 0..1.
    """
    return _evaluate(model, split)[1]


@torch.no_grad()
def refresh_statistics(model: torch.nn.Module, images: torch.Tensor) -> None:
    """Replace the running statistics of every batch norm by the mean over `images`, cut into batches.

    Everything else runs in eval mode; the mode and the momentum of each layer are restored.

    Parameters
    ----------
    model : torch.nn.Module
        Network; its batch norms are changed.
    images : tensor, shape (N, C, H, W)
        Images; with fewer than 2, nothing is done.
    """
    norms = [m for m in model.modules() if isinstance(m, (ShiftBatchNorm1d, torch.nn.modules.batchnorm._BatchNorm))]
    if not norms or len(images) < 2:
        return
    modes, momenta = [(m, m.training) for m in model.modules()], [m.momentum for m in norms]
    model.eval()
    try:
        for number, batch in enumerate(images.tensor_split(-(-len(images) // STATISTICS_BATCH)), start=1):
            for norm in norms:
                norm.training, norm.momentum = True, 1 / number
            model(batch)
    finally:
        for module, training in modes:
            module.training = training
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum


class _Average:
    """The running average of the trained parameters of a model."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.newest = [p for p in model.parameters() if p.requires_grad]
        self.averages = [p.detach().clone() for p in self.newest]
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        self.steps += 1
        weight = min(AVERAGE, self.steps / (self.steps + 9))
        for average, newest in zip(self.averages, self.newest, strict=True):
            average.lerp_(newest, 1 - weight)

    @contextlib.contextmanager
    def in_model(self) -> Iterator[None]:
        """Let the model have the averages in the body."""
        newest = [p.data for p in self.newest]
        try:
            for parameter, average in zip(self.newest, self.averages, strict=True):
                parameter.data = average
            yield
        finally:
            for parameter, data in zip(self.newest, newest, strict=True):
                parameter.data = data


def learning_rate_at(step: int, steps: int, warmup: float = WARMUP) -> float:
    """Return the factor of the learning rate, in 0..1: a linear rise over a part of the steps, then half a cosine to 0.

    Parameters
    ----------
    step : int
        Step, in 0..steps - 1.
    steps : int
        All steps of the training.
    warmup : float
        Part of the steps in which the rate rises, in 0..1.

    Returns
    -------
    float
        Factor of the peak rate.
    """
    rise = max(1, int(warmup * steps))
    if step < rise:
        return (step + 1) / rise
    return (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise))) / 2


@check_keywords
def fit(
    model: torch.nn.Module,
    train: Split,
    validation: Split,
    *,
    epochs: int = 40,
    learning_rate: float = 0.005,
    batch_size: int = 64,
    weight_decay: float = 0.01,
    label_smoothing: float = 0.1,
    warmup: float = WARMUP,
    seed: int = 0,
    progress: Callable[[Epoch, int], None] | None = None,
) -> History:
    """Train `model` in place and leave it, in eval mode, with the weights of its best epoch.

    Parameters
    ----------
    model : module
        Takes float32 images [N, C, H, W] and returns one number for each class.
    train, validation : Split
        The best epoch is that of the lowest loss on `validation`, the loss that is trained: it tells
        epochs apart that classify a few hundred images equally well.
    epochs, batch_size : int
        At least 1; a last batch of one image is left out, which batch norm could not use.
    learning_rate : float
        The highest one.
    weight_decay : float
        Of AdamW.
    label_smoothing : float
        Part of the target that all classes share, in 0..1.
    warmup : float
        Part of the steps in which the learning rate rises, in 0..1; then it falls to 0.
    seed : int
        Of the order of the images.
    progress : callable
        Called with (`Epoch`, number of epochs) after each one.

    Raises
    ------
    ModelError
        If the loss is no longer a finite number, or there is nothing to train.
    ShapeError
        If the model's output does not suit the labels.
    """
    if epochs < 1 or batch_size < 1:
        raise ModelError(f"`epochs` and `batch_size` must be at least 1, not {epochs} and {batch_size}")
    generator = torch.Generator().manual_seed(seed)
    images, labels = _tensors(train)
    steps = math.ceil(len(train) / batch_size) * epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_at(step, steps, warmup))
    _evaluate(model, validation.first(2))
    sample = images[torch.randperm(len(train), generator=generator)[:STATISTICS_IMAGES]]
    average = _Average(model)
    done: list[Epoch] = []
    best, best_state = Epoch(0, math.inf, math.inf, 0.0), model.state_dict()
    for number in range(1, epochs + 1):
        model.train()
        total = 0.0
        for index in torch.randperm(len(train), generator=generator).split(batch_size):
            if len(index) > 1 or len(train) == 1:
                loss = F.cross_entropy(model(images[index]), labels[index], label_smoothing=label_smoothing)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                average.update()
                total += loss.item() * len(index)
            schedule.step()
        with average.in_model():
            refresh_statistics(model, sample)
            epoch = Epoch(number, total / len(train), *_evaluate(model, validation, label_smoothing))
            if epoch.validation_loss < best.validation_loss:
                best, best_state = epoch, copy.deepcopy(model.state_dict())
        if not math.isfinite(epoch.loss + epoch.validation_loss):
            raise ModelError(
                f"the loss became {epoch.loss + epoch.validation_loss} in epoch {number}; "
                f"use a smaller `learning_rate` than {learning_rate:g}"
            )
        done.append(epoch)
        if progress is not None:
            progress(epoch, epochs)
    model.load_state_dict(best_state)
    model.eval()
    return History(tuple(done), best)


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads in the body.

    Parameters
    ----------
    count : int, at least 1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_runs(network: nn.Module, split: Split) -> None:
    """Raise a `MfsimError` unless `network` takes the images of `split` and scores each of their classes.

    Parameters
    ----------
    network : module in any mode
    split : of at least one image
    """
    few = split.first(2)
    try:
        logits(network, few.images)
    except Exception as error:  # whatever a stranger's module raises
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(
            f"the model cannot run on images of the shape {split.images.shape[1:]}: {reason[0]}"
        ) from error
    accuracy(network, few)
