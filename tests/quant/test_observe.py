"""What is seen of a network: extremes of every batch, and NaN in any of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.errors import ModelError
from mfsim.nn import MatMul
from mfsim.quant.observer import KEPT, RESULT, Observed, Place, as_inputs, observe


def test_extremes_are_those_of_all_values_and_kept_ones_are_spread():
    seen = Observed()
    seen.add(torch.linspace(-1, 1, 3 * KEPT))
    seen.add(torch.tensor([5.0, -0.5]))
    assert (seen.low, seen.high, seen.largest, seen.finite) == (-1.0, 5.0, 5.0, True)
    assert len(seen.values) == KEPT + 2
    assert abs(float(seen.values[:KEPT].mean())) < 1e-3


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nan_in_any_batch_is_not_forgotten(order, bad):
    batches = [torch.tensor([1.0, 2.0]), torch.tensor([0.0, bad])]
    seen = Observed()
    for batch in batches if order else reversed(batches):
        seen.add(batch)
    assert not seen.finite


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x):
        return self.used(torch.log(x))


def test_layers_that_do_not_run_and_values_that_are_no_numbers():
    with pytest.raises(ModelError, match=r"^layer `unused` did not run on the calibration images, so it has no scale$"):
        observe(Odd(), as_inputs(np.ones((4, 2))), {"a": Place("used"), "b": Place("unused")})
    images = np.ones((300, 2), dtype=np.float32)
    images[200] = -1
    with pytest.raises(ModelError, match=r"^what layer `used` meets became NaN or infinite on the calibration images$"):
        observe(Odd(), as_inputs(images), {"a": Place("used")})
    with pytest.raises(
        ModelError, match=r"^the output of the network became NaN or infinite on the calibration images$"
    ):
        observe(Odd(), as_inputs(images), {})


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.product = MatMul(transpose_b=True)

    def forward(self, x):
        return self.product(x, x + 1)


def test_every_input_of_a_layer_and_its_result_are_places_of_their_own():
    images = torch.arange(12.0).reshape(2, 3, 2)
    places = {"a": Place("product", 0), "b": Place("product", 1), "y": Place("product", RESULT)}
    seen, outputs, entrances = observe(Two(), (images,), places)
    assert [(s.low, s.high, s.shape) for s in seen.values()] == [(0, 11, (3, 2)), (1, 12, (3, 2)), (2, 242, (3, 3))]
    assert (outputs[0].high, entrances[0].high) == (242, 11)
