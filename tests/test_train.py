"""Training: it learns, it is repeatable, it keeps the best epoch, and it says when it cannot go on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from mfsim import data
from mfsim.data import Split
from mfsim.errors import ModelError, ShapeError
from mfsim.nn import ShiftBatchNorm1d, models
from mfsim.train import accuracy, fit, learning_rate_at, logits, refresh_statistics


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def two_blobs(count=64):
    rng = np.random.default_rng(0)
    labels = np.arange(count) % 2
    images = rng.normal(labels[:, None, None, None] * 0.5, 0.1, (count, 1, 2, 2)).astype(np.float32)
    return Split(images, labels.astype(np.int64))


def linear():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 2))


@pytest.mark.parametrize("name", ["mf-mlp", "mf-cnn", "wht-cnn", "dense-cnn"])
def test_every_model_learns(digits, name):
    model = models.create(name, seed=0)
    history = fit(model, digits.train, digits.validation, epochs=4, learning_rate=0.01)
    assert len(history.epochs) == 4
    assert history.epochs[-1].loss < 0.7 * history.epochs[0].loss
    # Far above the tenth of guessing; whole training reaches 98 %.
    assert accuracy(model, digits.validation) == history.best.validation_accuracy > 0.85
    assert not model.training


def test_two_runs_are_equal_and_leave_the_random_state(digits):
    states = []
    for _ in range(2):
        torch.manual_seed(len(states))
        model = models.create("mf-mlp", seed=1)
        before = torch.get_rng_state()
        fit(model, digits.train.first(256), digits.validation, epochs=2, seed=5)
        assert torch.equal(torch.get_rng_state(), before)
        states.append(model.state_dict())
    for name, tensor in states[0].items():
        assert torch.equal(tensor, states[1][name]), name


def test_the_model_has_the_weights_of_the_best_epoch(digits):
    model, seen = models.create("mf-mlp", seed=0), []
    history = fit(
        model,
        digits.train.first(256),
        digits.validation,
        epochs=4,
        learning_rate=0.03,
        label_smoothing=0.0,
        progress=lambda epoch, total: seen.append((epoch, total)),
    )
    assert seen == [(epoch, 4) for epoch in history.epochs]
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4]
    assert history.best == min(history.epochs, key=lambda epoch: epoch.validation_loss)
    outputs = logits(model, digits.validation.images)
    loss = nn.functional.cross_entropy(outputs, torch.from_numpy(digits.validation.labels)).item()
    assert loss == history.best.validation_loss


def test_the_kept_weights_are_averages():
    model, blobs, start = linear(), two_blobs(), linear()
    fit(model, blobs, blobs, epochs=1, batch_size=64, learning_rate=0.5, weight_decay=0.0)
    # The first step of AdamW without decay moves each weight by the learning rate; 9/10 of that count.
    moved = (model[1].weight - start[1].weight).abs()
    assert torch.allclose(moved, torch.full_like(moved, 0.5 * 0.9), rtol=1e-3)


def test_learning_rate_rises_and_falls():
    rates = [learning_rate_at(step, 100) for step in range(100)]
    assert rates[:20] == [(k + 1) / 20 for k in range(20)]
    assert rates[20] == 1
    assert rates[20:] == sorted(rates[20:], reverse=True)
    assert rates[60] == pytest.approx(0.5)
    assert 0 < rates[-1] < 0.001
    assert learning_rate_at(0, 1) == 1


def test_logits_restore_the_mode():
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(4, 2)).train()
    blobs = two_blobs(10)
    first, second = (logits(model, blobs.images, batch_size=b) for b in (3, 10))
    assert model.training
    assert first.shape == (10, 2)
    assert torch.allclose(first, second, rtol=0, atol=1e-6)  # float32, batches of other sizes


def test_statistics_are_those_of_the_images():
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.BatchNorm1d(4), ShiftBatchNorm1d(4, eps=0.0)).train()
    images = torch.rand(1200, 1, 2, 2)
    refresh_statistics(model, images)
    assert model.training
    assert (model[2].momentum, model[3].momentum) == (0.1, 0.1)
    rows = images.flatten(1)
    # Three batches of 400: their mean variance is the whole one up to that of their means, 1/400 of it.
    assert torch.allclose(model[2].running_mean, rows.mean(0), rtol=1e-4)
    assert torch.allclose(model[2].running_var, rows.var(0), rtol=1e-2)
    assert model[3].running_mean.abs().max() < 1e-3  # the first batch norm has taken the mean away
    assert model[3].exponents() == (0, 0, 0, 0)


def test_a_last_batch_of_one_image_is_left_out():
    blobs = two_blobs(9)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2), nn.BatchNorm1d(2))
    assert len(fit(model, blobs, blobs, epochs=1, batch_size=4).epochs) == 1


def test_a_loss_that_is_no_number():
    blobs, model = two_blobs(), linear()
    with torch.no_grad():
        model[1].weight[0, 0] = math.inf
    with pytest.raises(ModelError) as error:
        fit(model, blobs, blobs, epochs=2, learning_rate=0.01)
    assert str(error.value) == "the loss became nan in epoch 1; use a smaller `learning_rate` than 0.01"


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            lambda: nn.Sequential(nn.Flatten(), nn.Linear(4, 1)),
            "the model must return one number for each image and class, [2, at least 2], not (2, 1)",
        ),
        (
            lambda: nn.Conv2d(1, 2, 1),
            "the model must return one number for each image and class, [2, at least 2], not (2, 2, 2, 2)",
        ),
    ],
)
def test_outputs_that_do_not_suit_the_labels(model, sentence):
    blobs = two_blobs()
    with pytest.raises(ShapeError) as error:
        fit(model(), blobs, blobs)
    assert str(error.value) == sentence


@pytest.mark.parametrize(("epochs", "batch_size"), [(0, 64), (1, 0)])
def test_nothing_to_train(epochs, batch_size):
    with pytest.raises(ModelError) as error:
        fit(linear(), two_blobs(), two_blobs(), epochs=epochs, batch_size=batch_size)
    assert str(error.value) == f"`epochs` and `batch_size` must be at least 1, not {epochs} and {batch_size}"
