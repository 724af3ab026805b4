"""What is seen of a network: extremes of every batch, and NaN in any of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from mfsim.errors import ModelError
from mfsim.quant.observe import KEPT, Observed, as_inputs, observe


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
        observe(Odd(), as_inputs(np.ones((4, 2))), {"used": False, "unused": False})
    images = np.ones((300, 2), dtype=np.float32)
    images[200] = -1
    with pytest.raises(ModelError, match=r"^what layer `used` meets became NaN or infinite on the calibration images$"):
        observe(Odd(), as_inputs(images), {"used": False})
    with pytest.raises(
        ModelError, match=r"^the output of the network became NaN or infinite on the calibration images$"
    ):
        observe(Odd(), as_inputs(images), {})
